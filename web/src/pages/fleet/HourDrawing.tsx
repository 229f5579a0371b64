import { useRef } from "react";
import type { Schemas } from "../../api/client";
import { axisLabels, ticks } from "../../lib/axis";
import { findingMark, instanceStateWord, isShared, kindWord, sourceWord } from "../../lib/fleets";
import { count, duration, percent, plural, span } from "../../lib/format";
import { epoch, hourMinute, when } from "../../lib/time";
import { useWidth } from "../../lib/useWidth";
import { isHole as isUnknown, type Stretch, stretches } from "../fleets/ReadyLine";
import type { Deploy } from "./deploys";
import { failedShare, fitLabels, isHole } from "./hour";

type Health = Schemas["FleetHealth"];
type Finding = Pick<
  Schemas["FleetFinding"],
  "id" | "kind" | "severity" | "instances" | "from" | "to" | "sentence" | "chronic"
>;
type Removal = Schemas["Removal"];

/** What is marked on the axis beside the two lines. */
export interface Marked {
  findings: readonly Finding[];
  removals: readonly Removal[];
  deploys: readonly Deploy[];
}

/** Where things stand: x of an instant, and the tops and heights of the lanes. */
interface Plan {
  from: number;
  to: number;
  left: number;
  right: number;
  x: (at: number) => number;
  narrow: boolean;
  ready: { top: number; height: number; y: (count: number) => number; most: number };
  failed: { top: number; height: number; y: (share: number) => number; end: number };
  height: number;
}

const READY = 46;
const FAILED = 66;
const HEAD = 20;
const ENDS = [0.01, 0.04, 0.1, 0.3, 1];

/** Ready against expected, and failed attempts, on one axis; deploys, removals and findings are marked. */
export function HourDrawing(props: { health: Health; from: number; to: number; marked: Marked }) {
  const { health, from, to, marked } = props;
  const host = useRef<HTMLDivElement>(null);
  const width = useWidth(host);
  const runs = stretches(health.ready, from, to);
  const plan = planOf(health, runs, from, to, width, marked.deploys.length > 0);
  const called = health.ready.length > 0 && health.ready.every((s) => s.source === "traffic" || s.ready == null);
  const name = called ? "In rotation" : "Ready";
  return (
    <div className="body">
      <div ref={host}>
        {width > 0 && (
          <svg
            width={width}
            height={plan.height}
            role="img"
            aria-label={summary(name, health, runs)}
            style={{ display: "block" }}
          >
            <Axis plan={plan} />
            <Deploys plan={plan} deploys={marked.deploys} />
            <LaneName plan={plan} top={plan.ready.top} word={name} below={expectedWords(health)} />
            <ReadyLane plan={plan} health={health} runs={runs} removals={marked.removals} />
            <LaneName plan={plan} top={plan.failed.top} word="Failed attempts" below="whole fleet" />
            <FailedLane plan={plan} health={health} findings={marked.findings} />
          </svg>
        )}
      </div>
      <p className="small muted chart-note">
        A point is {span(health.step_s)}. Dotted: expected. Dashed: fewer is critical. Hatched: no line says anything,
        or whoever tells is silent, which is never read as health.
      </p>
    </div>
  );
}

function planOf(health: Health, runs: Stretch[], from: number, to: number, width: number, deploys: boolean): Plan {
  const narrow = width < 560;
  const left = narrow ? 40 : 150;
  const right = Math.max(left + 40, width - 8);
  const head = narrow ? HEAD : 0;
  const most = Math.max(
    1,
    health.now.expected ?? 0,
    ...runs.map((run) => (run.ready === null ? 0 : run.ready + run.unknown)),
  );
  const worst = Math.max(0, ...health.series.map((step) => failedShare(step) ?? 0));
  const end = ENDS.find((share) => worst <= share) ?? 1;
  const readyTop = 10 + head + (deploys ? HEAD : 0);
  const failedTop = readyTop + READY + 30 + head;
  return {
    from,
    to,
    left,
    right,
    narrow,
    x: (at) => left + ((at - from) / Math.max(1, to - from)) * (right - left),
    ready: { top: readyTop, height: READY, most, y: (n) => readyTop + (1 - n / most) * READY },
    failed: { top: failedTop, height: FAILED, end, y: (share) => failedTop + (1 - share / end) * FAILED },
    height: failedTop + FAILED + 24,
  };
}

function summary(name: string, health: Health, runs: Stretch[]): string {
  const { expected } = health.now;
  const known = runs.flatMap((run) => (run.ready === null ? [] : [run.ready]));
  const holes = health.series.filter((step) => isHole(step, health)).length;
  const worst = Math.max(0, ...health.series.map((step) => failedShare(step) ?? 0));
  return [
    known.length === 0
      ? `${name}: not known`
      : `${name}: lowest ${count(Math.min(...known))}${expected ? ` of ${count(expected)}` : ""}${runs.some(isUnknown) ? ", not known for a part" : ""}`,
    `Failed attempts: at most ${percent(worst, 1)}`,
    holes > 0 ? `no data for ${plural(holes, "step")}` : "",
  ]
    .filter(Boolean)
    .join(". ");
}

function expectedWords({ now }: Health): string {
  if (now.expected == null) return "expected not known";
  return `of ${count(now.expected)} expected`;
}

function Axis({ plan }: { plan: Plan }) {
  const { from, to, left, right, x, height } = plan;
  const marks = ticks(from, to, Math.max(2, Math.floor((right - left) / 90)));
  const labels = axisLabels(marks);
  return marks.map((at, i) => (
    <g key={at}>
      <path d={`M${x(at)} 4V${height - 20}`} stroke="var(--line)" />
      <text
        x={Math.min(x(at), right)}
        y={height - 5}
        textAnchor={x(at) > right - 18 ? "end" : "middle"}
        className="quiet"
      >
        {labels[i]}
      </text>
    </g>
  ));
}

/** Beside the lane where there is room, above it where there is not. */
function LaneName({ plan, top, word, below }: { plan: Plan; top: number; word: string; below: string }) {
  if (plan.narrow)
    return (
      <text x={0} y={top - 8} className="head">
        {word} <tspan className="quiet">{below}</tspan>
      </text>
    );
  return (
    <>
      <text x={0} y={top + 10} className="head">
        {word}
      </text>
      <text x={0} y={top + 26} className="quiet">
        {below}
      </text>
    </>
  );
}

function Scale({ plan, top, bottom, most }: { plan: Plan; top: number; bottom: number; most: string }) {
  return (
    <>
      <path d={`M${plan.left} ${bottom}H${plan.right}`} stroke="var(--line)" />
      <text x={plan.left - 8} y={top + 4} textAnchor="end" className="quiet">
        {most}
      </text>
      <text x={plan.left - 8} y={bottom + 4} textAnchor="end" className="quiet">
        0
      </text>
    </>
  );
}

function Hole({ x, width, top, height }: { x: number; width: number; top: number; height: number }) {
  return <rect x={x} y={top} width={Math.max(0, width)} height={height} fill="url(#hatch-unknown)" opacity="0.5" />;
}

function ReadyLane(props: { plan: Plan; health: Health; runs: Stretch[]; removals: readonly Removal[] }) {
  const { plan, health, runs, removals } = props;
  const { x, left, right } = plan;
  const { top, height, y, most } = plan.ready;
  const { expected, min_ready: floor } = health.now;
  let path = "";
  let open = false;
  for (const run of runs) {
    if (run.ready !== null) path += `${open ? "V" : `M${x(run.from)} `}${y(run.ready)}H${x(run.to)}`;
    open = run.ready !== null;
  }
  return (
    <>
      <Scale plan={plan} top={top} bottom={top + height} most={count(most)} />
      {runs.filter(isUnknown).map((run) => {
        // Of some nothing is known: they may be ready or not.
        const above = run.ready === null ? top : y(run.ready + run.unknown);
        const below = run.ready === null ? top + height : y(run.ready);
        return (
          <Hole key={run.from} x={x(run.from)} width={x(run.to) - x(run.from)} top={above} height={below - above} />
        );
      })}
      {expected != null && (
        <path d={`M${left} ${y(expected)}H${right}`} stroke="var(--text3)" strokeDasharray="1.5 3" />
      )}
      {floor != null && <path d={`M${left} ${y(floor)}H${right}`} stroke="var(--slow)" strokeDasharray="4 3" />}
      <path d={path} stroke="var(--text)" strokeWidth="2" fill="none" />
      {health.transitions.map((change) => {
        const at = epoch(change.at) ?? plan.from;
        const why = `${change.planned ? ", on purpose" : ""}${change.reason ? `: ${change.reason}` : ""}`;
        return (
          <g key={`${change.at}${change.instance}${change.state}`}>
            <title>{`${when(at)}: ${change.instance} ${instanceStateWord(change.state)}${why} (${sourceWord(change.source)})`}</title>
            <path
              d={`M${x(at)} ${top + height}v6`}
              stroke={change.planned ? "var(--maintenance)" : "var(--text)"}
              strokeWidth="1.5"
            />
            <path d={`M${x(at)} ${top + height - 4}v14`} stroke="transparent" strokeWidth="9" />
          </g>
        );
      })}
      <RemovalWords plan={plan} removals={removals} />
    </>
  );
}

/** What the dips were, where there is room to say it. */
function RemovalWords({ plan, removals }: { plan: Plan; removals: readonly Removal[] }) {
  if (plan.narrow) return null;
  const labels = removals.flatMap((removal) => {
    const at = epoch(removal.removed_at) ?? 0;
    if (at < plan.from || at > plan.to) return [];
    const back = epoch(removal.returned_at);
    const out = back === null ? "still out" : `out ${duration(back - at)}`;
    const took = removal.ttr_ms == null ? "" : `, removed after ${duration(removal.ttr_ms / 1000)}`;
    const least = removal.minimum_ms == null ? "" : ` (minimum ${duration(removal.minimum_ms / 1000)})`;
    return [{ key: removal.id, x: plan.x(at), text: `${removal.instance} ${out}${took}${took ? least : ""}` }];
  });
  return fitLabels(labels, plan.left, plan.right).map((label) => (
    <text
      key={label.key}
      x={label.x}
      y={plan.ready.top + plan.ready.height + 17}
      textAnchor={label.anchor}
      className="quiet"
    >
      {label.text}
    </text>
  ));
}

function Deploys({ plan, deploys }: { plan: Plan; deploys: readonly Deploy[] }) {
  const shown = deploys.filter((deploy) => deploy.to >= plan.from && deploy.from <= plan.to);
  const start = (deploy: Deploy) => plan.x(Math.max(plan.from, deploy.from));
  const labels = shown.map((deploy) => ({
    key: `${deploy.version}${deploy.from}`,
    x: start(deploy),
    text: `${deploy.version} on ${plural(deploy.instances.length, "instance")}`,
  }));
  const bottom = plan.failed.top + plan.failed.height;
  return (
    <>
      {shown.map((deploy) => (
        <g key={`${deploy.version}${deploy.from}`}>
          <title>{`${when(deploy.from)}: version ${deploy.version} on ${deploy.instances.join(", ")}`}</title>
          <rect
            x={start(deploy)}
            y={4}
            width={Math.max(1.5, plan.x(Math.min(plan.to, deploy.to)) - start(deploy))}
            height={4}
            fill="var(--text2)"
          />
          <path d={`M${start(deploy)} 4V${bottom}`} stroke="var(--text2)" strokeDasharray="1 3" />
          <path d={`M${start(deploy)} 4V${bottom}`} stroke="transparent" strokeWidth="9" />
        </g>
      ))}
      {fitLabels(labels, plan.left, plan.right).map((label) => (
        <text key={label.key} x={label.x} y={20} textAnchor={label.anchor} className="quiet">
          {label.text}
        </text>
      ))}
    </>
  );
}

function FailedLane({ plan, health, findings }: { plan: Plan; health: Health; findings: readonly Finding[] }) {
  const { x, right } = plan;
  const { top, height, y, end } = plan.failed;
  let path = "";
  let open = false;
  for (const step of health.series) {
    const share = failedShare(step);
    const at = x((epoch(step.at) ?? plan.from) + health.step_s / 2);
    if (share !== null) path += `${open ? "L" : "M"}${Math.min(right, at)} ${y(share)}`;
    open = share !== null;
  }
  return (
    <>
      <Findings plan={plan} findings={findings} />
      <Scale plan={plan} top={top} bottom={top + height} most={percent(end, 0)} />
      {health.series
        .filter((step) => isHole(step, health))
        .map((step) => {
          const start = Math.max(plan.from, epoch(step.at) ?? plan.from);
          const wide = x(Math.min(plan.to, start + health.step_s)) - x(start);
          return <Hole key={step.at} x={x(start)} width={wide} top={top} height={height} />;
        })}
      <path d={path} stroke="var(--text)" strokeWidth="1.5" fill="none" />
    </>
  );
}

/** Findings worth a warning are shaded while they last. */
function Findings({ plan, findings }: { plan: Plan; findings: readonly Finding[] }) {
  const { top, height } = plan.failed;
  const shown = findings.filter((finding) => {
    const over = epoch(finding.to) ?? plan.to;
    // The contradiction lies over the finding that it belongs to.
    const told = finding.severity !== "info" && !finding.chronic && finding.kind !== "contradiction";
    return told && over > plan.from && (epoch(finding.from) ?? 0) < plan.to;
  });
  const start = (finding: Finding) => plan.x(Math.max(plan.from, epoch(finding.from) ?? 0));
  const labels = shown.map((finding) => ({
    key: finding.id,
    x: start(finding),
    text: `${hourMinute(finding.from)} ${kindWord(finding.kind).toLowerCase()}${whoWords(finding)}`,
  }));
  return (
    <>
      {shown.map((finding) => {
        const colour = `var(--${findingMark(finding)})`;
        const until = plan.x(Math.min(plan.to, epoch(finding.to) ?? plan.to));
        return (
          <g key={finding.id}>
            <title>{finding.sentence}</title>
            <rect
              x={start(finding)}
              y={top}
              width={Math.max(2, until - start(finding))}
              height={height}
              fill={colour}
              opacity="0.12"
            />
            <path d={`M${start(finding)} ${top}v${height}`} stroke={colour} strokeDasharray="3 2" />
          </g>
        );
      })}
      {!plan.narrow &&
        fitLabels(labels, plan.left, plan.right, "end").map((label) => (
          <text key={label.key} x={label.x} y={top + 10} textAnchor={label.anchor}>
            {label.text}
          </text>
        ))}
    </>
  );
}

/** `: web-3`, `: 3 instances`, `: shared`; of the pool's own findings nothing. */
function whoWords(finding: Finding): string {
  if (isShared(finding)) return ": shared";
  const { instances } = finding;
  if (instances.length === 0) return "";
  return `: ${instances.length < 3 ? instances.join(", ") : plural(instances.length, "instance")}`;
}
