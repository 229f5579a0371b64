import { list, millis, NONE, plural } from "./format";
import { when } from "./time";

/** One step of a series: when it begins (seconds), its quantiles in milliseconds, and counts. */
export interface Point {
  at: number;
  p50: number | null;
  p95: number | null;
  passes: number;
  fails: number;
}

/** What one location measured. */
export interface Series {
  name: string;
  points: readonly Point[];
}

export interface Aligned {
  times: number[];
  p50: (number | null)[][];
  p95: (number | null)[][];
  fails: number[];
}

/** Breaks a line where steps are missing: a gap is a null of its own, never bridged. */
export function withGaps(points: readonly Point[], step: number): Point[] {
  const out: Point[] = [];
  for (const point of points) {
    const before = out[out.length - 1];
    if (before && point.at - before.at > step * 1.5)
      out.push({ at: before.at + step, p50: null, p95: null, passes: 0, fails: 0 });
    out.push(point);
  }
  return out;
}

/** Puts several series on one axis of times; where a series has no step there is null, never a guess. */
export function align(series: readonly Series[]): Aligned {
  const times = [...new Set(series.flatMap((s) => s.points.map((p) => p.at)))].sort((a, b) => a - b);
  const place = new Map(times.map((t, i) => [t, i]));
  const fails = new Array<number>(times.length).fill(0);
  const column = (s: Series, pick: (p: Point) => number | null) => {
    const values = new Array<number | null>(times.length).fill(null);
    for (const point of s.points) values[place.get(point.at) ?? -1] = pick(point);
    return values;
  };
  for (const s of series)
    for (const point of s.points) {
      const i = place.get(point.at) ?? -1;
      fails[i] = (fails[i] ?? 0) + point.fails;
    }
  return {
    times,
    p50: series.map((s) => column(s, (p) => p.p50)),
    p95: series.map((s) => column(s, (p) => p.p95)),
    fails,
  };
}

/** The top of an axis that begins at 0: 1, 2 or 5 times a power of ten, not under `max`. */
export function niceTop(max: number | null): number {
  if (max === null || !Number.isFinite(max) || max <= 0) return 100;
  const power = 10 ** Math.floor(Math.log10(max));
  return [1, 1.5, 2, 3, 5, 7.5, 10].map((f) => f * power).find((top) => top >= max * 1.02) ?? 10 * power;
}

/** What the chart shows, said once. */
export function seriesSummary(series: readonly Series[]): string {
  const words = series.map((s) => {
    const known = s.points.filter((p) => p.p50 !== null);
    const fails = s.points.reduce((sum, p) => sum + p.fails, 0);
    const last = known[known.length - 1];
    return `${s.name}: ${last ? `p50 ${millis(last.p50)}, p95 ${millis(last.p95)} at the end` : "no passes"}${fails > 0 ? `, ${plural(fails, "fail")}` : ""}`;
  });
  return words.length > 0 ? `Latency of passes. ${words.join(". ")}.` : "Latency: no data.";
}

/** What stands under the cursor. */
export function cursorWords(series: readonly Series[], data: Aligned, at: number): string {
  const time = data.times[at];
  if (time === undefined) return "";
  const values = series.map((s, k) => {
    const mid = data.p50[k]?.[at] ?? null;
    return `${s.name} ${mid === null ? NONE : `${millis(mid)} (p95 ${millis(data.p95[k]?.[at] ?? null)})`}`;
  });
  const fails = data.fails[at] ?? 0;
  return `${when(time)}: ${list(values)}${fails > 0 ? ` · ${plural(fails, "fail")}` : ""}`;
}
