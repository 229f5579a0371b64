import { Link } from "react-router";
import type { Schemas } from "../api/client";
import { duration } from "../lib/format";
import { nameOf, severityWord } from "../lib/incidents";
import { markOf } from "../lib/states";
import { clock, epoch, utc, when } from "../lib/time";
import { StateWord } from "./StateMark";
import { Tags } from "./Tags";

type Row = Schemas["IncidentRow"];

/** How long an incident lasted, or lasts by now; seconds. */
export function lasted(row: Row, now: number): number {
  const start = epoch(row.started_at) ?? now;
  return (row.ended_at ? (epoch(row.ended_at) ?? now) : now) - start;
}

/** What people did about it, in a few words. */
export function answered(row: Row): string {
  if (row.suppressed) return "in maintenance, nobody was told";
  if (row.acked_at) {
    const until = row.acked_until ? `, until ${clock(row.acked_until)}` : "";
    return `acknowledged ${clock(row.acked_at)} by ${row.acked_by ?? "somebody"}${until}`;
  }
  return row.resolved_at ? "" : "no answer yet";
}

/** Incidents as rows: at worst, what, why, for how long, answered. `sections` puts headings between. */
export function IncidentRows({
  rows,
  now,
  bare,
  here,
  heading,
}: {
  rows: readonly Row[];
  now: number;
  bare?: boolean;
  here?: string | null;
  heading?: string;
}) {
  return (
    <>
      {heading && (
        <tr className="section">
          <th scope="colgroup" colSpan={bare ? 4 : 5}>
            {heading}
          </th>
        </tr>
      )}
      {rows.map((row) => {
        const open = !row.resolved_at;
        return (
          <tr
            key={row.id}
            data-row={row.id}
            className={`${open ? `edged edge-${markOf(row.severity)}` : ""}${here === row.id ? " here" : ""}`}
          >
            <td>
              <StateWord
                state={row.suppressed ? "maintenance" : row.peak}
                word={row.suppressed ? "Suppressed" : severityWord(row, row.peak)}
              />
            </td>
            {!bare && (
              <th scope="row" className="what-broke">
                <Link to={`/incidents/${row.id}`} className="plain">
                  {nameOf(row)}
                </Link>
                <Tags low={row.low} stale={row.evidence_stale} flapping={row.flapping} />
              </th>
            )}
            <td className="second why">
              {bare ? (
                <Link to={`/incidents/${row.id}`} className="plain">
                  {row.sentence}
                </Link>
              ) : (
                row.sentence
              )}
            </td>
            <td className="end span-cell">
              <b className="nowrap">{duration(lasted(row, now))}</b>
              <span
                className="small muted nowrap"
                style={{ display: "block" }}
                title={`${utc(row.started_at)} – ${utc(row.ended_at)}`}
              >
                {open
                  ? `since ${when(row.started_at, now)}`
                  : `${when(row.started_at, now)} – ${clock(row.ended_at ?? row.started_at)}`}
              </span>
            </td>
            <td className="off small soft">{answered(row)}</td>
          </tr>
        );
      })}
    </>
  );
}

export function IncidentHead({ bare }: { bare?: boolean }) {
  return (
    <thead>
      <tr>
        <th scope="col">At worst</th>
        {!bare && <th scope="col">What</th>}
        <th scope="col">Why</th>
        <th scope="col">For</th>
        <th scope="col">Answered</th>
      </tr>
    </thead>
  );
}
