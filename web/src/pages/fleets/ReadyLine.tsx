import type { Schemas } from "../../api/client";
import { count } from "../../lib/format";
import { epoch } from "../../lib/time";

type Step = Schemas["ReadyStep"];

/** A stretch of the ready count; `ready` null: nobody says. Of `unknown` more nobody tells. */
export interface Stretch {
  from: number;
  to: number;
  ready: number | null;
  unknown: number;
}

/** The ready count as stretches within a span. Before the first step nothing is known. */
export function stretches(steps: readonly Step[], from: number, to: number): Stretch[] {
  const out: Stretch[] = [];
  let start = from;
  let ready: number | null = null;
  let unknown = 0;
  const push = (end: number) => {
    if (end > start) out.push({ from: start, to: end, ready, unknown });
  };
  for (const step of steps) {
    const at = epoch(step.at) ?? from;
    const cut = Math.min(Math.max(at, from), to);
    push(cut);
    start = Math.max(start, cut);
    ready = step.ready ?? null;
    unknown = step.unknown;
  }
  push(to);
  return out;
}

/** Whether nothing is known of all instances, or of some. */
export function isHole(run: Stretch): boolean {
  return run.ready === null || run.unknown > 0;
}

/** A small line of who was ready, with what is expected and the floor. A hole is hatched, never a height. */
export function ReadyLine(props: {
  steps: readonly Step[];
  from: number;
  to: number;
  expected: number | null | undefined;
  floor: number | null | undefined;
  width?: number;
  height?: number;
}) {
  const { steps, from, to, expected, floor, width = 120, height = 36 } = props;
  const runs = stretches(steps, from, to);
  const most = Math.max(1, expected ?? 0, ...runs.map((run) => (run.ready === null ? 0 : run.ready + run.unknown)));
  const x = (at: number) => ((at - from) / Math.max(1, to - from)) * width;
  const y = (value: number) => 4 + (1 - value / most) * (height - 8);
  const known = runs.filter((run) => run.ready !== null);
  const least = known.length > 0 ? Math.min(...known.map((run) => run.ready ?? 0)) : null;
  const holes = runs.filter((run) => isHole(run) && run.to - run.from > 1).length;
  const label =
    least === null
      ? "Ready: not known"
      : `Ready: lowest ${count(least)}${expected ? ` of ${count(expected)}` : ""}${holes > 0 ? ", not known for a part" : ""}`;
  let path = "";
  let last: Stretch | null = null;
  for (const run of runs) {
    if (run.ready === null) {
      last = null;
      continue;
    }
    path += last === null ? `M${x(run.from)} ${y(run.ready)}` : `V${y(run.ready)}`;
    path += `H${x(run.to)}`;
    last = run;
  }
  return (
    <svg width={width} height={height} role="img" aria-label={label} style={{ display: "block" }}>
      {expected != null && (
        <path d={`M0 ${y(expected)}H${width}`} stroke="var(--text3)" strokeDasharray="1.5 3" fill="none" />
      )}
      {floor != null && <path d={`M0 ${y(floor)}H${width}`} stroke="var(--slow)" strokeDasharray="4 3" fill="none" />}
      {runs.filter(isHole).map((run) => (
        <rect
          key={run.from}
          x={x(run.from)}
          y={run.ready === null ? 4 : y(run.ready + run.unknown)}
          width={Math.max(0, x(run.to) - x(run.from))}
          height={run.ready === null ? height - 8 : y(run.ready) - y(run.ready + run.unknown)}
          fill="url(#hatch-unknown)"
          opacity="0.5"
        />
      ))}
      <path d={path} stroke="var(--text)" strokeWidth="2" fill="none" />
    </svg>
  );
}
