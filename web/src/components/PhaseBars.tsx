import { list, micros } from "../lib/format";

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

/** One probe's phases on an axis from 0 to `max` microseconds; what was given up is dashed. */
export function PhaseBar(props: {
  phases: Phases;
  max: number;
  gaveUp?: boolean;
  limit?: number | null;
  width?: number;
}) {
  const width = props.width ?? 260;
  const scale = width / Math.max(1, props.max);
  let x = 0;
  const bars = order.flatMap(([key, , tone]) => {
    const us = props.phases[key];
    if (us == null) return [];
    const bar = { key, x, width: Math.max(us > 0 ? 1 : 0, us * scale), fill: `var(${tone})` };
    x += us * scale;
    return [bar];
  });
  const end = props.phases.total * scale;
  return (
    <svg
      className="phases"
      role="img"
      aria-label={phaseSummary(props.phases)}
      viewBox={`0 0 ${width} 14`}
      preserveAspectRatio="none"
      height={14}
    >
      {bars.map((bar) => (
        <rect key={bar.key} x={bar.x} y={2} width={Math.max(0.5, bar.width - 0.8)} height={10} fill={bar.fill} />
      ))}
      {props.gaveUp && end > x + 2 && (
        <rect x={x} y={2.5} width={end - x - 1} height={9} fill="none" stroke="var(--down)" strokeDasharray="4 2" />
      )}
      {props.limit != null && props.limit <= props.max && (
        <path d={`M${props.limit * scale} 0v14`} stroke="var(--text)" strokeWidth="1.5" strokeDasharray="2 2" />
      )}
    </svg>
  );
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
