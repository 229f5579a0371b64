import { type Mark, markOf, wordOf } from "../lib/states";

/** One mark, 12 px (20 px when large): shape and colour. Beside it there must be a word, or a label. */
export function StateMark({ state, size = 12, label }: { state: string; size?: number; label?: string }) {
  const mark = markOf(state);
  return (
    <svg
      className="mark"
      width={size}
      height={size}
      viewBox="0 0 12 12"
      role={label ? "img" : undefined}
      aria-label={label}
      aria-hidden={label ? undefined : true}
      style={{ color: colour(mark), flex: "none" }}
      data-mark={mark}
    >
      <MarkShape mark={mark} />
    </svg>
  );
}

/** Mark and word, both in the state's colour. Severe states are set in bold. */
export function StateWord({ state, word, large }: { state: string; word?: string; large?: boolean }) {
  const mark = markOf(state);
  const quiet = mark === "up" || mark === "quarantined";
  return (
    <span className={`state${large ? " large" : ""}`}>
      <StateMark state={state} size={large ? 20 : 12} />
      <span className={quiet ? undefined : "strong"} style={{ color: wordColour(mark) }}>
        {word ?? wordOf(state)}
      </span>
    </span>
  );
}

export function colour(mark: Mark): string {
  const same: Partial<Record<Mark, string>> = { pending: "unknown", suspect: "down", recovering: "up" };
  return `var(--${same[mark] ?? mark})`;
}

export function wordColour(mark: Mark): string {
  const same: Partial<Record<Mark, string>> = { pending: "unknown", suspect: "down", recovering: "up" };
  return `var(--${same[mark] ?? mark}-word)`;
}

/** The shape alone, in a 12 × 12 field, for drawings that place marks themselves. */
export function MarkShape({ mark }: { mark: Mark }) {
  switch (mark) {
    case "up":
      return <circle cx="6" cy="6" r="4.6" fill="currentColor" />;
    case "slow":
      return <path d="M6 .8 11.6 11H.4Z" fill="currentColor" />;
    case "partial":
      return (
        <>
          <rect x="1.2" y="1.2" width="9.6" height="9.6" fill="none" stroke="currentColor" strokeWidth="1.6" />
          <path d="M1 1h5v10H1z" fill="currentColor" />
        </>
      );
    case "down":
      return (
        <>
          <rect width="12" height="12" rx="1" fill="currentColor" />
          <path d="m3.3 3.3 5.4 5.4m0-5.4L3.3 8.7" stroke="var(--surface)" strokeWidth="1.7" strokeLinecap="round" />
        </>
      );
    case "unknown":
      return (
        <circle
          cx="6"
          cy="6"
          r="5"
          fill="url(#hatch-unknown)"
          stroke="currentColor"
          strokeWidth="1.4"
          strokeDasharray="2.6 1.6"
        />
      );
    case "pending":
      return (
        <circle cx="6" cy="6" r="4.8" fill="none" stroke="currentColor" strokeWidth="1.6" strokeDasharray="1.6 2.1" />
      );
    case "paused":
      return <path d="M2.2 1h2.6v10H2.2zM7.2 1h2.6v10H7.2z" fill="currentColor" />;
    case "maintenance":
      return (
        <>
          <path d="M6 .3 11.7 6 6 11.7.3 6Z" fill="none" stroke="currentColor" strokeWidth="1.5" />
          <circle cx="6" cy="6" r="1.7" fill="currentColor" />
        </>
      );
    case "quarantined":
      return (
        <>
          <circle cx="6" cy="6" r="5" fill="none" stroke="currentColor" strokeWidth="1.6" />
          <path d="m2.5 9.5 7-7" stroke="currentColor" strokeWidth="1.6" />
        </>
      );
    case "suspect":
      return (
        <>
          <rect x="1" y="1" width="10" height="10" fill="none" stroke="currentColor" strokeWidth="1.6" />
          <circle cx="6" cy="6" r="1.4" fill="currentColor" />
        </>
      );
    case "recovering":
      return (
        <>
          <circle cx="6" cy="6" r="4.8" fill="none" stroke="currentColor" strokeWidth="1.6" />
          <path d="M3 6h6M6 3v6" stroke="currentColor" strokeWidth="1.5" />
        </>
      );
  }
}

/** The textures that marks and strips share. Stands once in the document. */
export function Textures() {
  return (
    <svg width="0" height="0" style={{ position: "absolute" }} aria-hidden="true">
      <defs>
        <pattern id="hatch-unknown" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="5" height="5" fill="var(--surface)" />
          <rect width="1.6" height="5" fill="var(--unknown)" />
        </pattern>
        <pattern id="hatch-down" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="5" height="5" fill="var(--surface)" />
          <rect width="1.6" height="5" fill="var(--down)" />
        </pattern>
        <pattern id="hatch-partial" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="5" height="5" fill="var(--surface)" />
          <rect width="1.6" height="5" fill="var(--partial)" />
        </pattern>
        <pattern
          id="hatch-quarantined"
          width="5"
          height="5"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(-45)"
        >
          <rect width="5" height="5" fill="var(--surface)" />
          <rect width="1.8" height="5" fill="var(--quarantined)" />
        </pattern>
        <pattern id="dots-maintenance" width="4" height="4" patternUnits="userSpaceOnUse">
          <rect width="4" height="4" fill="var(--surface)" />
          <circle cx="1" cy="1" r="0.9" fill="var(--maintenance)" />
          <circle cx="3" cy="3" r="0.9" fill="var(--maintenance)" />
        </pattern>
      </defs>
    </svg>
  );
}
