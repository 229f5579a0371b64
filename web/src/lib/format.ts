/**
 * How numbers, spans and instants are written. Units always, with a no-break space before them;
 * figures are floored where rounding up would claim more than is known.
 */

/** No-break space, between a number and its unit. */
export const NBSP = "\u00a0";
/** What is written where there is no data. */
export const NONE = "–";

const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });

/** `1,310` */
export function count(n: number): string {
  return whole.format(n);
}

/** `1 location`, `3 locations` */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)}${NBSP}${n === 1 ? one : many}`;
}

/** Milliseconds: `0.4 ms`, `38 ms`, `1,310 ms`. */
export function millis(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return NONE;
  if (ms < 10 && ms !== Math.round(ms)) return `${ms.toFixed(1)}${NBSP}ms`;
  return `${whole.format(ms)}${NBSP}ms`;
}

/** Microseconds, written as milliseconds. */
export function micros(us: number | null | undefined): string {
  return us === null || us === undefined ? NONE : millis(us / 1000);
}

/** A span in its two largest units: `49 s`, `4 min 42 s`, `2 h 05 min`, `3 d 04 h`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE;
  const s = Math.max(0, Math.floor(seconds));
  if (s < 1 && seconds > 0) return `${(Math.floor(seconds * 10) / 10).toFixed(1)}${NBSP}s`;
  const two = (big: number, unit: string, small: number, smaller: string) =>
    `${whole.format(big)}${NBSP}${unit} ${String(small).padStart(2, "0")}${NBSP}${smaller}`;
  if (s < 60) return `${s}${NBSP}s`;
  if (s < 3600) return two(Math.floor(s / 60), "min", s % 60, "s");
  if (s < 86_400) return two(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "min");
  return two(Math.floor(s / 86_400), "d", Math.floor((s % 86_400) / 3600), "h");
}

/** A configured span, without empty parts: `60 s`, `90 s`, `5 min`, `1 h`, `7 d`. */
export function span(seconds: number): string {
  if (seconds >= 172_800 && seconds % 86_400 === 0) return `${seconds / 86_400}${NBSP}d`;
  if (seconds >= 3600 && seconds % 3600 === 0) return `${seconds / 3600}${NBSP}h`;
  if (seconds >= 120 && seconds % 60 === 0) return `${seconds / 60}${NBSP}min`;
  return `${seconds >= 1000 ? whole.format(seconds) : Number(seconds.toFixed(3))}${NBSP}s`;
}

/** A ratio of 0 to 1 as a percentage, floored: 0.999999 is `99.999 %`, never `100.000 %`. */
export function percent(ratio: number | null | undefined, decimals = 3): string {
  if (ratio === null || ratio === undefined || !Number.isFinite(ratio)) return NONE;
  return `${floorTo(ratio * 100, decimals).toFixed(decimals)}${NBSP}%`;
}

/**
 * Availability with what is not known beside it. `low` counts all unknown time as down and `high` as
 * up; when they are apart the middle is written with its reach: `99.9 % ± 0.1`.
 */
export function availability(low: number | null, high: number | null): string {
  if (low === null || high === null) return NONE;
  const reach = ((high - low) / 2) * 100;
  if (reach < 0.0005) return percent(low);
  const decimals = reach >= 0.05 ? 1 : 3;
  const step = 10 ** decimals;
  const middle = floorTo(((low + high) / 2) * 100, decimals);
  return `${middle.toFixed(decimals)}${NBSP}%${NBSP}±${NBSP}${(Math.ceil(reach * step - 1e-7) / step).toFixed(decimals)}`;
}

/** Floors without the noise of binary fractions: 99.94 stays 99.94. */
function floorTo(value: number, decimals: number): number {
  const step = 10 ** decimals;
  return Math.floor(value * step + 1e-7) / step;
}

/** How often, from a rate a month: `43 a month`, `1.7 a month`, `1 in 23 months`, `1 in 9.6 years`. */
export function odds(perMonth: number | null | undefined): string {
  if (perMonth === null || perMonth === undefined || !Number.isFinite(perMonth)) return NONE;
  if (perMonth <= 0) return "never";
  const short = (x: number) => (x >= 10 ? whole.format(Math.round(x)) : String(Number(x.toFixed(1))));
  if (perMonth >= 1) return `${short(perMonth)} a${NBSP}month`;
  const months = 1 / perMonth;
  if (months < 24) return `1 in ${short(months)}${NBSP}months`;
  const years = months / 12;
  if (years > 1e6) return `1 in over a million${NBSP}years`;
  return `1 in ${short(years)}${NBSP}years`;
}

/** `412 bytes`, `1.2 KiB`, `3.4 MiB` */
export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined) return NONE;
  if (n < 1024) return plural(n, "byte");
  if (n < 1024 ** 2) return `${(n / 1024).toFixed(1)}${NBSP}KiB`;
  if (n < 1024 ** 3) return `${(n / 1024 ** 2).toFixed(1)}${NBSP}MiB`;
  return `${(n / 1024 ** 3).toFixed(1)}${NBSP}GiB`;
}

/** `+3 ms`, `−8 ms`, `+0.4 s`: a clock's offset, with a true minus. */
export function offset(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return NONE;
  const sign = ms < 0 ? "−" : "+";
  const size = Math.abs(ms);
  return size < 100 ? `${sign}${Math.round(size)}${NBSP}ms` : `${sign}${(size / 1000).toFixed(1)}${NBSP}s`;
}

/** `a`, `a and b`, `a, b and c` */
export function list(words: readonly string[]): string {
  if (words.length < 2) return words[0] ?? "";
  return `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}
