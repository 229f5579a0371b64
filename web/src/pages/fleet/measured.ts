/** How long removals and returns took in truth, beside what the check allows. */

import type { Schemas } from "../../api/client";

type Removal = Pick<Schemas["Removal"], "cause" | "ttr_ms" | "ttb_ms">;

export interface Measured {
  count: number;
  /** Seconds. */
  median: number;
  slowest: number;
}

/** From the first failure to out, of removals by the check. */
export function measuredOut(removals: readonly Removal[]): Measured | null {
  return summary(removals.filter((one) => one.cause === "check").map((one) => one.ttr_ms));
}

/** From the first good sign to back in rotation. */
export function measuredBack(removals: readonly Removal[]): Measured | null {
  return summary(removals.map((one) => one.ttb_ms));
}

function summary(times: readonly (number | null | undefined)[]): Measured | null {
  const known = times.filter((ms): ms is number => ms != null).sort((a, b) => a - b);
  const slowest = known.at(-1);
  const median = known[Math.floor((known.length - 1) / 2)];
  if (slowest === undefined || median === undefined) return null;
  return { count: known.length, median: median / 1000, slowest: slowest / 1000 };
}
