/** Time ranges of charts. In the address: `1h`, `24h`, or `FROM-TO` in seconds since 1970. */
export const ranges = ["1h", "6h", "24h", "7d", "30d"] as const;

const seconds: Record<string, number> = { "1h": 3600, "6h": 21_600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000 };

export interface Range {
  from: number;
  to: number;
  /** Ends now and moves on. */
  moving: boolean;
}

/**
 * Reads a range. A moving one ends at a whole step, so that a page asks for the same span until the
 * step is over, and not anew with every second.
 */
export function readRange(text: string, now: number): Range {
  const fixed = /^(\d+)-(\d+)$/.exec(text);
  if (fixed) {
    const [from, to] = [Number(fixed[1]), Number(fixed[2])];
    if (to - from >= 10) return { from, to, moving: false };
  }
  const length = seconds[text] ?? 86_400;
  const step = Math.max(10, length / 360);
  const to = Math.ceil(now / step) * step;
  return { from: to - length, to, moving: true };
}

/** The range that shows a history of so many seconds best, a day at most. */
export function rangeFor(age: number): string {
  return age < 3600 ? "1h" : age < 21_600 ? "6h" : "24h";
}

export function writeRange(from: number, to: number): string {
  return `${Math.floor(from)}-${Math.ceil(to)}`;
}

/** The next shorter or longer of the usual ranges. */
export function nextRange(text: string, by: 1 | -1): string {
  const at = ranges.indexOf(text as (typeof ranges)[number]);
  const next = at === -1 ? (by > 0 ? 4 : 0) : Math.max(0, Math.min(ranges.length - 1, at + by));
  return ranges[next] ?? "24h";
}

/** `1 h`, `24 h`, `7 d` with a no-break space. */
export function rangeWord(text: string): string {
  return text.replace(/(\d+)([hd])/, "$1\u00a0$2");
}
