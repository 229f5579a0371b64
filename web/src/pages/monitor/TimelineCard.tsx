import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { StateWord } from "../../components/StateMark";
import { Failed, Loading } from "../../components/Status";
import type { Interval } from "../../components/Strip";
import { type Lane, Timeline } from "../../components/Timeline";
import { useTwin } from "../../components/Twin";
import { duration } from "../../lib/format";
import { rangeWord, ranges } from "../../lib/range";
import { epoch, utc, when, zoneLabel } from "../../lib/time";

/** What a location's results say, the worst of each step: a lane without votes, gaps left open. */
export function locationLane(series: Schemas["LocationSeries"], step: number): Interval[] {
  return series.points.map((point) => {
    const from = epoch(point.at) ?? 0;
    const state = point.fails > 0 ? "down" : point.passes > 0 ? "up" : "unknown";
    return { from: point.at, to: new Date((from + step) * 1000).toISOString(), state };
  });
}

/** The verdict's intervals with maintenance and the times when Quorate did not run laid over them. */
export function verdictLane(timeline: Schemas["Timeline"]): Interval[] {
  return [
    ...timeline.intervals.map((i) => ({
      from: i.from,
      to: i.to,
      state: i.state,
      evidence_stale: i.evidence_stale,
      low: i.low,
    })),
    ...timeline.not_running.map((span) => ({ from: span.from, to: span.to, not_running: true })),
  ];
}

interface Props {
  range: string;
  setRange: (range: string, push: boolean) => void;
  from: number;
  to: number;
  zoom: (from: number, to: number) => void;
  timeline: Schemas["Timeline"] | undefined;
  error: unknown;
  retry: () => void;
  series: Schemas["Series"] | undefined;
  decisions: readonly Schemas["Decision"][];
}

/** One timeline: incidents, verdict and locations on one axis; ticks are decisions, also those not to alert. */
export function TimelineCard(props: Props) {
  const twin = useTwin();
  const { timeline, series, from, to } = props;
  return (
    <Card
      title="One timeline"
      beside={
        <span className="row">
          {ranges.map((range) => (
            <button
              key={range}
              type="button"
              className="button compact"
              aria-pressed={props.range === range}
              onClick={() => props.setRange(range, true)}
            >
              {rangeWord(range)}
            </button>
          ))}
          <span className="small">
            {when(from)} – {when(to)} {zoneLabel(to)}
          </span>
        </span>
      }
      actions={twin.button}
    >
      {!timeline && props.error ? <Failed error={props.error} retry={props.retry} /> : null}
      {!timeline && !props.error ? <Loading rows={4} height={24} /> : null}
      {timeline &&
        (twin.asTable ? (
          <TimelineTable timeline={timeline} decisions={props.decisions} />
        ) : (
          <div className="body">
            <Timeline lanes={lanes(timeline, series, props.decisions)} from={from} to={to} onZoom={props.zoom} />
          </div>
        ))}
    </Card>
  );
}

function lanes(
  timeline: Schemas["Timeline"],
  series: Schemas["Series"] | undefined,
  decisions: readonly Schemas["Decision"][],
): Lane[] {
  const incidents = timeline.intervals
    .filter((i) => i.incident && i.state !== "up")
    .map((i) => ({ from: i.from, to: i.to, state: i.state }));
  return [
    { name: "Incidents", intervals: incidents },
    {
      name: "Verdict",
      intervals: verdictLane(timeline),
      ticks: decisions.filter((d) => !d.changed).map((d) => ({ at: epoch(d.at) ?? 0, words: d.sentence })),
    },
    ...(timeline.maintenance.length > 0
      ? [
          {
            name: "Maintenance",
            intervals: timeline.maintenance.map((m) => ({ from: m.from, to: m.to, state: "maintenance" })),
          },
        ]
      : []),
    ...(series?.locations ?? []).map((l) => ({
      name: l.name,
      about: "results",
      intervals: locationLane(l, series?.step_s ?? 60),
    })),
  ];
}

function TimelineTable({
  timeline,
  decisions,
}: {
  timeline: Schemas["Timeline"];
  decisions: readonly Schemas["Decision"][];
}) {
  const end = epoch(timeline.to) ?? 0;
  const rows = [
    ...timeline.intervals.map((i) => ({
      at: i.from,
      state: i.state as string,
      words: `for ${duration((i.to ? (epoch(i.to) ?? end) : end) - (epoch(i.from) ?? end))}${i.evidence_stale ? ", evidence stale" : ""}${i.low ? ", low confidence" : ""}${i.found_late ? ", learnt late" : ""}`,
    })),
    ...decisions.map((d) => ({ at: d.at, state: d.state as string, words: d.sentence })),
    ...timeline.not_running.map((s) => ({
      at: s.from,
      state: "unknown",
      words: `Quorate itself did not run until ${when(s.to)}`,
    })),
  ].sort((a, b) => b.at.localeCompare(a.at));
  return (
    <div className="scroll-x" style={{ maxHeight: 420, overflowY: "auto" }}>
      <table className="grid dense">
        <caption className="hidden-visually">States and decisions, the latest first</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">State</th>
            <th scope="col">What</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={`${row.at}${i}`}>
              <td className="nowrap" title={utc(row.at)}>
                {when(row.at)}
              </td>
              <td>
                <StateWord state={row.state} />
              </td>
              <td>{row.words}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
