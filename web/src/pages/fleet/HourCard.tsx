import { useRef } from "react";
import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { Failed, Loading } from "../../components/Status";
import { useTwin } from "../../components/Twin";
import { axisLabels, ticks } from "../../lib/axis";
import { count, NONE, percent, plural, span } from "../../lib/format";
import { rangeWord, ranges } from "../../lib/range";
import { epoch, utc, when, zoneLabel } from "../../lib/time";
import { useWidth } from "../../lib/useWidth";
import { stretches } from "../fleets/ReadyLine";
import { sourceWord } from "../fleets/words";

type Health = Schemas["FleetHealth"];
type Step = Schemas["FleetStep"];

const READY = 72;
const FAILED = 84;
const GAP = 26;

/** Ready against expected and failed attempts, on one axis; changes and findings are marked. */
export function HourCard(props: {
  health: Health | undefined;
  error: unknown;
  retry: () => void;
  range: string;
  setRange: (range: string, push: boolean) => void;
  from: number;
  to: number;
}) {
  const { health, error, retry, range, setRange, from, to } = props;
  const twin = useTwin();
  return (
    <Card
      title="Ready and failures"
      beside={
        <span className="row">
          {ranges.map((one) => (
            <button
              key={one}
              type="button"
              className="button compact"
              aria-pressed={range === one}
              onClick={() => setRange(one, true)}
            >
              {rangeWord(one)}
            </button>
          ))}
          <span className="small">
            {when(from)} – {when(to)} {zoneLabel(to)}
          </span>
        </span>
      }
      actions={twin.button}
    >
      {!health && error ? <Failed error={error} retry={retry} /> : null}
      {!health && !error ? <Loading rows={4} /> : null}
      {health && (twin.asTable ? <HourTable health={health} /> : <Drawing health={health} from={from} to={to} />)}
    </Card>
  );
}

/** Share of failed attempts of a step; null where nothing is known. */
const failedShare = (step: Step) =>
  step.attempts == null ? null : step.attempts === 0 ? null : (step.errors ?? 0) / step.attempts;

function Drawing({ health, from, to }: { health: Health; from: number; to: number }) {
  const host = useRef<HTMLDivElement>(null);
  const width = useWidth(host);
  const left = width < 560 ? 44 : 150;
  const inner = Math.max(40, width - left - 8);
  const x = (at: number) => left + ((at - from) / Math.max(1, to - from)) * inner;
  const runs = stretches(health.ready, from, to);
  const { expected, min_ready: floor } = health.now;
  const most = Math.max(1, expected ?? 0, ...runs.map((r) => r.ready ?? 0));
  const ready = (n: number) => 12 + (1 - n / most) * (READY - 20);
  const top = READY + GAP;
  const shares = health.series.map(failedShare);
  const end = [0.01, 0.04, 0.1, 0.3, 1].find((s) => Math.max(0, ...shares.map((v) => v ?? 0)) <= s) ?? 1;
  const failed = (share: number) => top + 8 + (1 - share / end) * (FAILED - 16);
  const marks = ticks(from, to, Math.max(2, Math.floor(inner / 90)));
  const labels = axisLabels(marks);
  const height = top + FAILED + 20;
  const called = runs.length > 0 && health.ready[0]?.source === "traffic" ? "In rotation" : "Ready";
  let readyPath = "";
  let open = false;
  for (const run of runs) {
    if (run.ready === null) {
      open = false;
      continue;
    }
    readyPath += `${open ? "V" : `M${x(run.from)} `}${ready(run.ready)}H${x(run.to)}`;
    open = true;
  }
  let failedPath = "";
  open = false;
  health.series.forEach((step, i) => {
    const share = shares[i];
    if (share === null || share === undefined) {
      open = false;
      return;
    }
    const at = x((epoch(step.at) ?? from) + health.step_s / 2);
    failedPath += `${open ? "L" : "M"}${at} ${failed(share)}`;
    open = true;
  });
  const holes = health.series.filter((step) => step.attempts == null);
  const lowest = runs.reduce<number | null>((l, r) => (r.ready === null ? l : Math.min(l ?? r.ready, r.ready)), null);
  const label = [
    lowest === null
      ? `${called}: not known`
      : `${called}: lowest ${count(lowest)}${expected ? ` of ${count(expected)}` : ""}`,
    `Failed attempts: at most ${percent(Math.max(0, ...shares.map((v) => v ?? 0)), 1)}`,
    holes.length > 0 ? `no data for ${plural(holes.length, "step")}` : "",
  ]
    .filter(Boolean)
    .join(". ");
  return (
    <div ref={host} className="body">
      {width > 0 && (
        <svg width={width} height={height} role="img" aria-label={label} style={{ display: "block" }}>
          {marks.map((at, i) => (
            <g key={at}>
              <path d={`M${x(at)} 4V${height - 20}`} stroke="var(--line)" />
              <text x={x(at)} y={height - 5} textAnchor="middle" className="quiet">
                {labels[i]}
              </text>
            </g>
          ))}
          <text x={0} y={22} className="head">
            {called}
          </text>
          {width >= 560 && (
            <text x={0} y={38} className="quiet">
              {expected ? `of ${count(expected)} expected` : "expected not known"}
            </text>
          )}
          <text x={left - 8} y={ready(most) + 4} textAnchor="end" className="quiet">
            {count(most)}
          </text>
          <text x={left - 8} y={ready(0) + 4} textAnchor="end" className="quiet">
            0
          </text>
          {expected != null && (
            <path d={`M${left} ${ready(expected)}H${left + inner}`} stroke="var(--text3)" strokeDasharray="1.5 3" />
          )}
          {floor != null && (
            <path d={`M${left} ${ready(floor)}H${left + inner}`} stroke="var(--slow)" strokeDasharray="4 3" />
          )}
          {runs
            .filter((run) => run.ready === null)
            .map((run) => (
              <rect
                key={run.from}
                x={x(run.from)}
                y={10}
                width={Math.max(0, x(run.to) - x(run.from))}
                height={READY - 16}
                fill="url(#hatch-unknown)"
                opacity="0.5"
              />
            ))}
          <path d={readyPath} stroke="var(--text)" strokeWidth="2" fill="none" />
          {health.transitions.map((change) => {
            const at = epoch(change.at) ?? from;
            const words = `${when(at)}: ${change.instance} ${change.state}${change.planned ? ", on purpose" : ""}${change.reason ? `: ${change.reason}` : ""} (${sourceWord(change.source)})`;
            return (
              <g key={`${change.at}${change.instance}${change.state}`}>
                <title>{words}</title>
                <path
                  d={`M${x(at)} ${READY - 2}v8`}
                  stroke={change.planned ? "var(--maintenance)" : "var(--text)"}
                  strokeWidth="1.5"
                />
                <path d={`M${x(at)} ${READY - 6}v16`} stroke="transparent" strokeWidth="9" />
              </g>
            );
          })}
          <text x={0} y={top + 18} className="head">
            Failed attempts
          </text>
          {width >= 560 && (
            <text x={0} y={top + 34} className="quiet">
              whole fleet
            </text>
          )}
          <text x={left - 8} y={failed(end) + 4} textAnchor="end" className="quiet">
            {percent(end, 0)}
          </text>
          <text x={left - 8} y={failed(0) + 4} textAnchor="end" className="quiet">
            0
          </text>
          {health.findings.map((finding) => {
            const start = Math.max(from, epoch(finding.from) ?? from);
            return (
              <g key={finding.id}>
                <title>{finding.sentence}</title>
                <path d={`M${x(start)} ${top + 4}V${top + FAILED - 6}`} stroke="var(--down)" strokeDasharray="3 2" />
                <path d={`M${x(start)} ${top + 4}V${top + FAILED - 6}`} stroke="transparent" strokeWidth="9" />
              </g>
            );
          })}
          {holes.map((step) => {
            const start = epoch(step.at) ?? from;
            return (
              <rect
                key={step.at}
                x={x(start)}
                y={top + 8}
                width={Math.max(1, x(Math.min(to, start + health.step_s)) - x(start))}
                height={FAILED - 16}
                fill="url(#hatch-unknown)"
                opacity="0.5"
              />
            );
          })}
          <path d={`M${left} ${failed(0)}H${left + inner}`} stroke="var(--line)" />
          <path d={failedPath} stroke="var(--text)" strokeWidth="1.5" fill="none" />
        </svg>
      )}
      <p className="small muted">
        {span(health.step_s)} a point. Dotted: expected. Dashed: fewer page. Hatched: no line says anything, which is
        never read as health.
      </p>
    </div>
  );
}

function HourTable({ health }: { health: Health }) {
  const rows = [...health.series].reverse();
  return (
    <div className="scroll-x" style={{ maxHeight: 420, overflowY: "auto" }}>
      <table className="grid dense">
        <caption className="hidden-visually">Requests, attempts and ready count by step, the latest first</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col" className="num">
              Requests
            </th>
            <th scope="col" className="num">
              Failed for users
            </th>
            <th scope="col" className="num">
              Attempts
            </th>
            <th scope="col" className="num">
              Failed
            </th>
            <th scope="col" className="num">
              Saved by a retry
            </th>
            <th scope="col">Notes</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((step) => {
            const at = epoch(step.at) ?? 0;
            const changes = health.transitions.filter((t) => {
              const then = epoch(t.at) ?? 0;
              return then >= at && then < at + health.step_s;
            });
            const notes = [
              step.attempts == null ? "no data" : "",
              step.revised ? "lines came after it was judged" : "",
              ...changes.map((c) => `${c.instance} ${c.state}`),
            ].filter(Boolean);
            return (
              <tr key={step.at}>
                <td className="nowrap" title={utc(step.at)}>
                  {when(step.at)}
                </td>
                <td className="num">{step.requests == null ? NONE : count(step.requests)}</td>
                <td className="num">{step.failed == null ? NONE : count(step.failed)}</td>
                <td className="num">{step.attempts == null ? NONE : count(step.attempts)}</td>
                <td className="num">{percent(failedShare(step), 1)}</td>
                <td className="num">{step.rescued == null ? NONE : count(step.rescued)}</td>
                <td>{notes.join("; ")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
