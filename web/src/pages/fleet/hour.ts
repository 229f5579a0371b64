/** What the chart of ready instances and failures computes. */

import type { Schemas } from "../../api/client";
import { isUnheard } from "../../lib/fleets";

/** Share of failed attempts of a step; null where nothing is known or nothing was tried. */
export function failedShare(step: Pick<Schemas["FleetStep"], "attempts" | "errors">): number | null {
  return step.attempts == null || step.attempts === 0 ? null : (step.errors ?? 0) / step.attempts;
}

/** Whether nothing is known of a step, though its time has come: lines of the running minute are on their way. */
export function isHole(
  step: Pick<Schemas["FleetStep"], "at" | "attempts">,
  { now, step_s }: Pick<Schemas["FleetHealth"], "now" | "step_s">,
): boolean {
  if (step.attempts != null) return false;
  const newest = now.newest_at ? Date.parse(now.newest_at) / 1000 : 0;
  return isUnheard(now.state) || Date.parse(step.at) / 1000 + Math.max(step_s, 60) <= newest;
}

/** Average width of a letter at 12 px. */
const LETTER = 6.3;
/** Between a mark and its label, and between two labels. */
const GAP = 6;

/** A label that was given a place. */
export interface Placed {
  key: string;
  text: string;
  x: number;
  anchor: "start" | "end";
}

/**
 * Labels on one line beside their marks, on the preferred side where they fit and on the other one where
 * not. One that would lie over another is left out: its mark still tells it.
 */
export function fitLabels(
  labels: readonly { key: string; x: number; text: string }[],
  left: number,
  right: number,
  prefer: "start" | "end" = "start",
): Placed[] {
  const taken: [number, number][] = [];
  const placed: Placed[] = [];
  for (const { key, x, text } of labels) {
    const wide = text.length * LETTER;
    const sides = prefer === "start" ? (["start", "end"] as const) : (["end", "start"] as const);
    for (const anchor of sides) {
      const at = anchor === "start" ? x + GAP : x - GAP;
      const [from, to] = anchor === "start" ? [at, at + wide] : [at - wide, at];
      const free = taken.every(([a, b]) => to + GAP < a || from - GAP > b);
      if (from < left || to > right || !free) continue;
      taken.push([from, to]);
      placed.push({ key, text, x: at, anchor });
      break;
    }
  }
  return placed;
}
