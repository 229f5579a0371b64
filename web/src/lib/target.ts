/**
 * Objectives as people write them and as the API takes them: percent as text, and parts per billion. The
 * decimal point moves in the text, so that no binary fraction comes between.
 */
export function ppbOf(text: string): number | null {
  const match = /^\s*(\d{1,3})(?:[.,](\d{0,7})0*)?\s*%?\s*$/.exec(text);
  if (!match) return null;
  const ppb = Number(match[1]) * 10_000_000 + Number((match[2] ?? "").padEnd(7, "0"));
  return ppb > 0 && ppb < 1_000_000_000 ? ppb : null;
}

/** `999000000` is `99.9`. */
export function percentOf(ppb: number): string {
  const whole = Math.floor(ppb / 10_000_000);
  const rest = String(ppb % 10_000_000)
    .padStart(7, "0")
    .replace(/0+$/, "");
  return rest === "" ? String(whole) : `${whole}.${rest}`;
}
