/** The drawing of a budget over its window: where steps, bounds and futures lie. All figures are the API's. */

import type { Schemas } from "../../api/client";
import { epoch } from "../../lib/time";
import { leftOf, totalOf, unitOf } from "./words";

type Report = Schemas["SloReport"];
type History = Schemas["SloHistory"];

/** What was left at one instant; `worst` if all unknown time had been down. Null where nothing can be said. */
export interface Step {
  at: number;
  left: number | null;
  worst: number | null;
}

/** The finest step of a history that stays under its 400 points. */
export function stepFor(seconds: number): "1h" | "6h" | "1d" {
  const hours = seconds / 3600;
  return hours <= 390 ? "1h" : hours / 6 <= 390 ? "6h" : "1d";
}

/** Where the drawing begins, in seconds: with the window, or with the watching when that began later. */
export function beginOf(report: Report): number {
  return (epoch(report.window.start) ?? 0) + report.time_ms.not_monitored / 1000;
}

/**
 * The points in order, begun with the whole budget where the window begins with it. Before anything was
 * measured there is nothing to draw: the budget of a window shrinks by what was not watched of it.
 */
export function stepsOf(history: History, report: Report): Step[] {
  const steps = history.points.map((point) => ({
    at: epoch(point.at) ?? 0,
    left: point.coverage == null ? null : (point.budget_left ?? null),
    worst: point.coverage == null ? null : (point.budget_left_worst ?? null),
  }));
  const start = beginOf(report);
  const { nominal_ms, total_ms } = report.budget;
  const whole = (report.time_ms.not_monitored > 0 ? total_ms : (nominal_ms ?? total_ms)) ?? null;
  const begins = report.slo.window.kind !== "rolling" && unitOf(report) === "ms" && whole !== null;
  return begins && steps[0] && steps[0].left !== null && steps[0].at > start
    ? [{ at: start, left: whole, worst: null }, ...steps]
    : steps;
}

/** Runs of known points; a gap of knowledge is a gap in the line. */
export function runsOf(steps: readonly Step[]): { at: number; left: number }[][] {
  const runs: { at: number; left: number }[][] = [[]];
  for (const step of steps) {
    if (step.left === null) runs.push([]);
    else runs[runs.length - 1]?.push({ at: step.at, left: step.left });
  }
  return runs.filter((run) => run.length > 0);
}

/** Each stretch in which unknown time leaves it open how much is left: between `low` and `high`. */
export function openStretches(steps: readonly Step[]): { from: number; to: number; low: number; high: number }[] {
  return steps.flatMap((step, i) => {
    const next = steps[i + 1];
    if (step.left === null || step.worst === null || step.worst >= step.left || !next) return [];
    return [{ from: step.at, to: next.at, low: step.worst, high: step.left }];
  });
}

const spans = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000, 172_800_000, 432_000_000,
];

/** Round values of an axis from `low` to `high`; spans of time are round on a clock. */
export function levels(low: number, high: number, unit: string): number[] {
  const range = Math.max(high - low, 1);
  const power = 10 ** Math.floor(Math.log10(range / 4));
  const tens = [power, 2 * power, 5 * power, 10 * power].map((step) => Math.max(1, step));
  const step = (unit === "ms" ? spans : tens).find((one) => range / one <= 4.5) ?? tens[3] ?? range;
  const out: number[] = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 0.001; value += step) out.push(value);
  return out;
}

/** Since when the line is drawn; null without anything measured. */
export function since(steps: readonly Step[]): number | null {
  return steps.find((step) => step.left !== null)?.at ?? null;
}

/** From where to where the axis reaches: nothing left is always in sight, and so is the whole. */
export function reach(steps: readonly Step[], report: Report): [number, number] {
  const known = steps.flatMap((step) => [step.left, step.worst]).filter((value): value is number => value !== null);
  const whole = totalOf(report) ?? 0;
  return [Math.min(0, ...known, leftOf(report) ?? 0), Math.max(whole, ...known, 1)];
}
