import { day, hourMinute } from "./time";

const steps = [10, 30, 60, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800];

const DAY = 86_400;

/** Round instants between two seconds for about `wanted` labels, on the viewer's own midnight. */
export function ticks(from: number, to: number, wanted: number): number[] {
  const step = steps.find((s) => (to - from) / s <= wanted) ?? 604_800;
  const shift = new Date(from * 1000).getTimezoneOffset() * 60;
  const first = Math.ceil((from - shift) / step) * step + shift;
  const out: number[] = [];
  for (let t = first; t <= to; t += step) out.push(step < DAY ? t : midnight(t));
  return out;
}

/** The midnight that is meant when the clocks were changed on the way to it. */
function midnight(near: number): number {
  const date = new Date((near + 2 * 3600) * 1000);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime() / 1000;
}

/** Words as the steps ask for: days; times of day, and the day instead of midnight; with seconds within a minute. */
export function axisLabels(times: readonly number[]): string[] {
  const step = Math.min(...times.slice(1).map((t, i) => t - (times[i] ?? t)));
  return times.map((t) => {
    const date = new Date(t * 1000);
    const starts = date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0;
    if (starts || (times.length > 1 && step > DAY / 2)) return day(t).split(" ").slice(0, 3).join(" ");
    return step < 60 ? `${hourMinute(t)}:${String(date.getSeconds()).padStart(2, "0")}` : hourMinute(t);
  });
}

/** How far a zone's clocks are ahead of UTC at an instant, in seconds. */
export function zoneOffset(at: number, zone: string): number {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  }).formatToParts(new Date(at * 1000));
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value ?? 0);
  const wall = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return Math.round(wall / 1000 - Math.floor(at));
}

/** Round instants between two seconds on the clocks of a zone: whole hours up to two days, else midnights. */
export function zoneTicks(from: number, to: number, zone: string, wanted: number): { at: number; word: string }[] {
  const span = to - from;
  const hours = [3600, 7200, 10_800, 21_600, 43_200];
  const days = [1, 2, 3, 5, 7, 10, 14, 30, 61, 91, 183].map((n) => n * DAY);
  const step = (span <= 2.5 * DAY ? [...hours, ...days] : days).find((s) => span / s <= wanted) ?? 366 * DAY;
  const grain = Math.min(step, DAY);
  const shift = zoneOffset(from, zone);
  const first = Math.ceil((from + shift) / grain) * grain;
  const out: { at: number; word: string }[] = [];
  for (let wall = first; out.length < 60; wall += step) {
    const guess = wall - shift;
    const at = wall - zoneOffset(guess, zone);
    if (at > to) break;
    out.push({ at, word: wall % DAY === 0 ? monthDay(at, zone) : hourMinute(at, zone) });
  }
  return out;
}

function monthDay(at: number, zone: string): string {
  return new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: zone }).format(
    new Date(at * 1000),
  );
}
