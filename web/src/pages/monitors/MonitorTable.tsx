import { useRef } from "react";
import { Link } from "react-router";
import type { Schemas } from "../../api/client";
import { Seats } from "../../components/Seats";
import { StateWord } from "../../components/StateMark";
import { Strip } from "../../components/Strip";
import { Tags } from "../../components/Tags";
import { millis, plural } from "../../lib/format";
import { markOf } from "../../lib/states";
import { useNow } from "../../lib/ticker";
import { ago, utc } from "../../lib/time";
import { useWindowed } from "../../lib/useWindowed";

type Row = Schemas["MonitorRow"];

/** Rows of the monitors list; only those near the window are drawn. */
export function MonitorTable({ rows, here }: { rows: readonly Row[]; here: string | null }) {
  const body = useRef<HTMLTableSectionElement>(null);
  const view = useWindowed(body, rows.length);
  const now = useNow();
  return (
    <table className="grid folds monitors" aria-rowcount={rows.length + 1}>
      <caption className="hidden-visually">Monitors with state, the last 24 hours, votes and latency</caption>
      <thead>
        <tr>
          <th scope="col">State</th>
          <th scope="col">Monitor</th>
          <th scope="col" className="wide-only">
            Target
          </th>
          <th scope="col">Last 24 h</th>
          <th scope="col">Now</th>
          <th scope="col" className="num">
            Latency
          </th>
          <th scope="col" className="num">
            Since
          </th>
        </tr>
      </thead>
      <tbody ref={body}>
        {view.above > 0 && <Space height={view.above} />}
        {rows.slice(view.first, view.last).map((row, i) => (
          <MonitorLine key={row.id} row={row} now={now} here={row.id === here} index={view.first + i} />
        ))}
        {view.below > 0 && <Space height={view.below} />}
      </tbody>
    </table>
  );
}

function Space({ height }: { height: number }) {
  return (
    <tr aria-hidden="true" style={{ height, padding: 0, border: 0 }}>
      <td colSpan={7} style={{ height, padding: 0, border: 0 }} />
    </tr>
  );
}

function MonitorLine({ row, now, here, index }: { row: Row; now: number; here: boolean; index: number }) {
  const mark = markOf(row.state);
  const edge = ["down", "partial", "slow", "unknown"].includes(mark) ? ` edged edge-${mark}` : "";
  return (
    <tr data-row={row.id} aria-rowindex={index + 2} className={`${here ? "here" : ""}${edge}`}>
      <td>
        <StateWord state={row.maintenance && row.state !== "paused" ? "maintenance" : row.state} />
      </td>
      <th scope="row" className="name">
        <Link to={`/monitors/${row.id}`} className="plain">
          {row.name}
        </Link>
        {row.group && <span className="muted small-weight"> {row.group}</span>}
        <Tags low={row.low} stale={row.evidence_stale} flapping={row.flapping} />
      </th>
      <td className="mono soft wide-only off target" title={row.target}>
        {row.target.replace(/^https?:\/\//, "")}
      </td>
      <td className="second strip-cell">
        <Strip intervals={row.strip} from={now - 86_400} to={now} label="Last 24 h" />
      </td>
      <td className="off">
        <Now row={row} now={now} />
      </td>
      <td className="num end">{row.state === "paused" ? "–" : millis(row.last_latency_ms)}</td>
      <td className="num off" title={utc(row.since)}>
        {ago(row.since, now)}
      </td>
    </tr>
  );
}

/** Seats when locations disagree, otherwise how many agree: only disagreement draws ink. Of a job, its last call. */
function Now({ row, now }: { row: Row; now: number }) {
  const counted = row.seats.filter((s) => s.counts);
  const same = counted.every((s) => s.vote === "up") && counted.length * 2 > row.seats.length;
  const silent = row.seats.length - counted.length;
  if (row.kind === "heartbeat" && row.last_at)
    return <span className="soft nowrap" title={utc(row.last_at)}>{`called ${ago(row.last_at, now)}`}</span>;
  if (row.state === "paused" || row.seats.length === 0) return <span className="muted">–</span>;
  if (same)
    return (
      <span className="soft nowrap">{`${plural(counted.length, "agrees", "agree")}${silent > 0 ? `, ${silent} not counted` : ""}`}</span>
    );
  return (
    <Seats
      size={11}
      needed={null}
      seats={row.seats.map((s) => ({
        location: s.name,
        vote: s.counts || s.vote === "none" ? s.vote : "unknown",
        counts: s.counts,
      }))}
    />
  );
}
