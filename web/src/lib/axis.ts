import { day, hourMinute } from "./time";

const steps = [10, 30, 60, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800];

/** Round instants between two seconds for about `wanted` labels, on the viewer's own midnight. */
export function ticks(from: number, to: number, wanted: number): number[] {
  const step = steps.find((s) => (to - from) / s <= wanted) ?? 604_800;
  const shift = new Date(from * 1000).getTimezoneOffset() * 60;
  const first = Math.ceil((from - shift) / step) * step + shift;
  const out: number[] = [];
  for (let t = first; t <= to; t += step) out.push(t);
  return out;
}

/** Times of day, and the day instead of midnight. */
export function axisLabels(times: readonly number[]): string[] {
  return times.map((t) => {
    const date = new Date(t * 1000);
    return date.getHours() === 0 && date.getMinutes() === 0 ? day(t).split(" ").slice(0, 3).join(" ") : hourMinute(t);
  });
}
