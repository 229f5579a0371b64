import { list, micros } from "../lib/format";
import { niceTop } from "../lib/series";

/** Microseconds; absent means that the phase did not happen. */
export interface Phases {
  resolve?: number | null;
  connect?: number | null;
  tls?: number | null;
  first_byte?: number | null;
  transfer?: number | null;
  total: number;
}

const order = [
  ["resolve", "DNS", "--phase1"],
  ["connect", "connect", "--phase2"],
  ["tls", "TLS", "--phase3"],
  ["first_byte", "wait", "--phase4"],
  ["transfer", "transfer", "--phase5"],
] as const;

export function phaseSummary(phases: Phases): string {
  const known = order.flatMap(([key, word]) => (phases[key] == null ? [] : [`${word} ${micros(phases[key])}`]));
  return `${micros(phases.total)} in all${known.length > 0 ? `: ${list(known)}` : ""}`;
}

/** One probe's phases on an axis from 0 to `max` microseconds; what was given up is dashed, and cut at `max`. */
export function PhaseBar(props: { phases: Phases; max: number; gaveUp?: boolean; limit?: number | null }) {
  const place = (us: number) => (Math.min(us, props.max) / Math.max(1, props.max)) * 100;
  let at = 0;
  const bars = order.flatMap(([key, , tone]) => {
    const us = props.phases[key];
    if (us == null) return [];
    const bar = { key, x: place(at), end: place(at + us), fill: `var(${tone})` };
    at += us;
    return [bar];
  });
  const given = place(at);
  const end = place(props.phases.total);
  return (
    <svg className="phases" role="img" aria-label={phaseSummary(props.phases)} height={14}>
      {bars.map((bar) => (
        <rect
          key={bar.key}
          x={`${bar.x}%`}
          y={2}
          width={`${Math.max(0.4, bar.end - bar.x)}%`}
          height={10}
          fill={bar.fill}
        />
      ))}
      {bars.slice(1).map((bar) => (
        <rect key={bar.key} x={`${bar.x}%`} y={2} width={1} height={10} fill="var(--surface)" />
      ))}
      {props.gaveUp && end > given + 1 && (
        <rect
          x={`${given}%`}
          y={2.5}
          width={`${end - given - 0.5}%`}
          height={9}
          fill="none"
          stroke="var(--down)"
          strokeDasharray="4 2"
        />
      )}
      {props.limit != null && props.limit <= props.max && (
        <line
          x1={`${place(props.limit)}%`}
          x2={`${place(props.limit)}%`}
          y1={0}
          y2={14}
          stroke="var(--text)"
          strokeWidth="1.5"
          strokeDasharray="2 2"
        />
      )}
    </svg>
  );
}

/** The end of a common axis, in microseconds: what was given up does not squeeze the others. */
export function phaseAxis(probes: readonly { total: number; gaveUp: boolean }[], limit_us = 0): number {
  const done = probes.filter((p) => !p.gaveUp).map((p) => p.total);
  const longest = Math.max(1000, limit_us, ...(done.length > 0 ? done : probes.map((p) => p.total)));
  return niceTop((longest / 1000) * (done.length < probes.length && done.length > 0 ? 1.5 : 1)) * 1000;
}

/** What the greys mean. */
export function PhaseLegend() {
  return (
    <span className="row small muted">
      {order.map(([key, word, tone]) => (
        <span key={key} className="nowrap">
          <svg width="8" height="8" aria-hidden="true">
            <rect width="8" height="8" fill={`var(${tone})`} />
          </svg>{" "}
          {word}
        </span>
      ))}
    </span>
  );
}
