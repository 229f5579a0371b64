import { duration } from "../lib/format";

/** An age beside a bar that empties at `staleAfter`. Both in seconds. */
export function AgeBar({ age, staleAfter }: { age: number | null; staleAfter: number }) {
  if (age === null) return <span className="muted">never</span>;
  const left = Math.max(0, 1 - age / staleAfter);
  return (
    <span className="age">
      <span className="value">{age < 60 ? duration(age) : (duration(age).split(" ")[0] ?? "")}</span>
      <svg width="56" height="8" aria-hidden="true">
        <rect width="56" height="8" fill="var(--sunken)" />
        <rect width={56 * left} height="8" fill="var(--phase4)" />
      </svg>
      {left === 0 && <span className="hidden-visually">too old to count</span>}
    </span>
  );
}
