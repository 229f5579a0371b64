import type { Schemas } from "../api/client";
import { list, span } from "./format";

/** An escalation as far as it says who is told when; channels by name. */
export interface CallPlan {
  steps: readonly { after_s: number; channels: readonly string[] }[];
  loops: number;
  /** Seconds between reminders; null for none. */
  reminder_s: number | null;
}

/** A moment in which one channel is told: for the first time, in a later step or round, or by a reminder. */
export interface Call {
  at: number;
  kind: "first" | "again" | "reminder";
}

/** What one channel hears. */
export interface Lane {
  name: string;
  calls: Call[];
}

/** A policy, or what is entered of one, with channels by name. */
export function callPlan(
  of: Pick<Schemas["Escalation"], "steps" | "loops" | "reminder_s">,
  names: ReadonlyMap<string, string>,
): CallPlan {
  return {
    steps: of.steps.map((step) => ({
      after_s: step.after_s,
      channels: step.channels.map((id) => names.get(id) ?? "a deleted channel"),
    })),
    loops: of.loops ?? 2,
    reminder_s: of.reminder_s ?? null,
  };
}

/** The same with channels that are told at once beside its steps. */
export function withChannels(plan: CallPlan, names: readonly string[]): CallPlan {
  if (names.length === 0) return plan;
  const [first, ...rest] = plan.steps;
  const at0 = first?.after_s === 0 ? first.channels : [];
  const steps = first?.after_s === 0 ? rest : plan.steps;
  return { ...plan, steps: [{ after_s: 0, channels: [...new Set([...at0, ...names])] }, ...steps] };
}

const ROUND = 3600;
const DAY = 86_400;
/** Reminders before they become daily. */
const FREQUENT = 24;

/** What every channel hears of an incident at which nobody is, up to `end` seconds after its opening. */
export function lanesOf(plan: CallPlan): { lanes: Lane[]; end: number } {
  const lanes = new Map<string, Lane>();
  let end = 0;
  for (let round = 0; round < plan.loops; round++)
    for (const step of plan.steps) {
      const at = round * ROUND + step.after_s;
      end = Math.max(end, at);
      for (const name of step.channels) {
        const lane = lanes.get(name) ?? { name, calls: [] };
        lane.calls.push({ at, kind: lane.calls.length === 0 ? "first" : "again" });
        lanes.set(name, lane);
      }
    }
  const every = plan.reminder_s;
  // One reminder is shown, however late it comes.
  if (every) end = Math.max(end, every);
  for (const lane of lanes.values()) {
    const told = new Set(lane.calls.map((call) => call.at));
    const since = lane.calls[0]?.at ?? end;
    const all = every ? reminders(every, end) : [];
    // Whoever is told for a step is not reminded as well.
    for (const at of all) if (at > since && !told.has(at)) lane.calls.push({ at, kind: "reminder" });
    lane.calls.sort((a, b) => a.at - b.at);
  }
  return { lanes: [...lanes.values()], end };
}

function reminders(every: number, end: number): number[] {
  const all: number[] = [];
  for (let n = 1; ; n++) {
    const at = n <= FREQUENT ? n * every : FREQUENT * every + (n - FREQUENT) * DAY;
    if (at > end) return all;
    all.push(at);
  }
}

/** Round seconds for an axis from 0 to `end`, five at most. */
export function ticksOf(end: number): number[] {
  const steps = [60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, DAY];
  const step = steps.find((one) => end / one <= 4) ?? DAY;
  const ticks: number[] = [];
  for (let at = 0; at <= end; at += step) ticks.push(at);
  return ticks;
}

/** The same moment by moment: `After 10 min: phone. Reminded: chat.` */
export function callsInWords(lanes: readonly Lane[]): string[] {
  const moments = new Map<number, Record<Call["kind"], string[]>>();
  for (const lane of lanes)
    for (const call of lane.calls) {
      const moment = moments.get(call.at) ?? { first: [], again: [], reminder: [] };
      moment[call.kind].push(lane.name);
      moments.set(call.at, moment);
    }
  return [...moments.entries()]
    .sort(([a], [b]) => a - b)
    .map(([at, { first, again, reminder }]) => {
      const parts = [
        first.length > 0 ? list(first) : "",
        again.length > 0 ? `${list(again)} again` : "",
        reminder.length > 0 ? `a reminder to ${list(reminder)}` : "",
      ].filter((part) => part !== "");
      return `${at === 0 ? "At once" : `After ${span(at)}`}: ${parts.join("; ")}.`;
    });
}
