import { Fragment, useState } from "react";
import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { StateWord } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { plural } from "../../lib/format";
import { pct, sloMark, sloWord } from "../../lib/slos";
import { epoch, utc, when } from "../../lib/time";
import { pathWords, periodWord } from "./words";

type Revision = Schemas["SloRevision"];

/** Reports as they were frozen: revision, hash, and what differs from the one before. */
export function ReportsCard({ slo, report, now }: { slo: Schemas["Slo"]; report: Schemas["SloReport"]; now: number }) {
  const reports = api.useQuery("get", "/api/v1/slos/{id}/reports", { params: { path: { id: slo.id } } });
  const role = useRole();
  const items = reports.data?.items ?? [];
  return (
    <Card
      title="Frozen reports"
      beside="72 h after a window's end; again when late data or a correction changes it; old revisions stay"
      actions={
        <span className="small row">
          <span className="muted">As it stands now:</span>
          <Files id={slo.id} query={{}} of="the present report" />
          {role("editor") && <Link to={`/reports/schedules/new?slo=${slo.id}`}>Send it by itself…</Link>}
        </span>
      }
      footer={
        items.length > 0 &&
        "The hash is over the canonical JSON without sha256 and engine_version. “quorate slo eval” gives the same figures from the same intervals, without a server."
      }
    >
      {reports.isPending && <Loading rows={2} />}
      {reports.isError && <Failed error={reports.error} retry={() => void reports.refetch()} />}
      {reports.data && items.length === 0 && (
        <Empty>
          {slo.window.kind === "rolling"
            ? "None: a rolling window never ends. A calendar window gives one report a period."
            : `None yet. The first is frozen 72 h after ${when(report.window.end, now, report.slo.window.timezone)}.`}
        </Empty>
      )}
      {items.length > 0 && (
        <ScrollX label="Frozen reports">
          <table className="grid dense">
            <caption className="hidden-visually">Frozen reports, the latest first</caption>
            <thead>
              <tr>
                <th scope="col">Window</th>
                <th scope="col" className="num">
                  Revision
                </th>
                <th scope="col" className="num">
                  Achieved
                </th>
                <th scope="col">State</th>
                <th scope="col">Frozen</th>
                <th scope="col">sha256</th>
                <th scope="col">Changes</th>
                <th scope="col">Report</th>
              </tr>
            </thead>
            <tbody>
              {items.map((one) => (
                <Row key={`${one.window_start}${one.revision}`} one={one} slo={slo} report={report} now={now} />
              ))}
            </tbody>
          </table>
        </ScrollX>
      )}
    </Card>
  );
}

/** A report as a page that prints, as data, and as a table. */
function Files({ id, query, of }: { id: string; query: Record<string, string>; of: string }) {
  const text = new URLSearchParams(query).toString();
  const kinds = [
    ["Page", ".html"],
    ["JSON", ""],
    ["CSV", ".csv"],
  ] as const;
  return kinds.map(([word, suffix]) => (
    <a
      key={word}
      href={`/api/v1/slos/${id}/report${suffix}${text ? `?${text}` : ""}`}
      target="_blank"
      rel="noreferrer"
      aria-label={`${word} of ${of}`}
    >
      {word}
    </a>
  ));
}

function Row({
  one,
  slo,
  report,
  now,
}: {
  one: Revision;
  slo: Schemas["Slo"];
  report: Schemas["SloReport"];
  now: number;
}) {
  const [open, setOpen] = useState(false);
  const zone = report.slo.window.timezone;
  const window = { ...report.window, start: one.window_start, end: one.window_end };
  const missed = one.met === false;
  const period = periodWord({ slo: report.slo, window }, now);
  return (
    <Fragment>
      <tr>
        <th scope="row" title={`${utc(one.window_start)} – ${utc(one.window_end)}`}>
          {period}
        </th>
        <td className="num">{one.revision}</td>
        <td className={`num${missed ? " strong" : ""}`}>{pct(one.pct)}</td>
        <td>
          {missed ? (
            <StateWord state="down" word="Missed" />
          ) : (
            <StateWord state={sloMark(one.state)} word={one.met ? "Met" : sloWord(one.state)} />
          )}
        </td>
        <td className="nowrap" title={utc(one.frozen_at)}>
          {when(epoch(one.frozen_at), now, zone)}
        </td>
        <td>
          <code title={one.sha256}>{one.sha256.slice(0, 12)}…</code>
        </td>
        <td>
          {one.diff.length > 0 ? (
            <button type="button" className="link" aria-expanded={open} onClick={() => setOpen(!open)}>
              {plural(one.diff.length, "change")}
            </button>
          ) : (
            <span className="muted">none</span>
          )}
        </td>
        <td>
          <span className="row">
            <Files
              id={slo.id}
              query={{ window: `${one.window_start}..${one.window_end}`, revision: String(one.revision) }}
              of={`revision ${one.revision} of ${period}`}
            />
          </span>
        </td>
      </tr>
      {open && (
        <tr>
          <td colSpan={8}>
            <p className="small break">
              sha256 <code>{one.sha256}</code>
            </p>
            <ul className="small">
              {one.diff.map((change) => (
                <li key={change.path} className="break">
                  {pathWords(change.path)}: {JSON.stringify(change.before)} → <b>{JSON.stringify(change.after)}</b>
                </li>
              ))}
            </ul>
          </td>
        </tr>
      )}
    </Fragment>
  );
}
