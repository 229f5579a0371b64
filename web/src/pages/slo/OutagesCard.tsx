import { useState } from "react";
import { Link } from "react-router";
import type { Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { Empty } from "../../components/Status";
import { percent, plural } from "../../lib/format";
import { amount, lasting } from "../../lib/slos";
import { epoch, utc, when } from "../../lib/time";
import { totalOf, unitOf } from "./words";

type Report = Schemas["SloReport"];
type Outage = Schemas["SloOutage"];

const FIRST = 8;

/** The outages that spent the budget, the costliest first. */
export function OutagesCard({ report, now }: { report: Report; now: number }) {
  const [all, setAll] = useState(false);
  const list = [...report.outages.list].sort((a, b) => b.downtime_ms - a.downtime_ms || a.start.localeCompare(b.start));
  const shown = all ? list : list.slice(0, FIRST);
  const total = unitOf(report) === "ms" ? totalOf(report) : null;
  const { outages } = report;
  const columns = {
    excluded: list.some((one) => one.excluded_ms > 0),
    unknown: list.some((one) => one.unknown_ms > 0),
  };
  const figures = [
    outages.longest_ms != null && `longest ${lasting(outages.longest_ms)}`,
    outages.mttr_ms != null && `mean to recover ${lasting(outages.mttr_ms)}`,
    outages.mtbf_ms != null && `mean between failures ${lasting(outages.mtbf_ms)}`,
    outages.mttd_ms != null && `mean to see ${lasting(outages.mttd_ms)}`,
    outages.mtta_ms != null && `mean to answer ${lasting(outages.mtta_ms)}`,
  ].filter(Boolean);
  return (
    <Card
      title="What used the budget"
      beside={usedWords(report)}
      footer={
        list.length > shown.length ? (
          <Button compact onClick={() => setAll(true)}>
            Show all {plural(list.length, "outage")}
          </Button>
        ) : (
          figures.length > 0 && `${plural(outages.count, "outage")}: ${figures.join(" · ")}.`
        )
      }
    >
      {list.length === 0 && <Empty>No outage in this window.</Empty>}
      {list.length > 0 && (
        <ScrollX label="Outages">
          <table className="grid dense">
            <caption className="hidden-visually">Outages with downtime in the window, the longest first</caption>
            <thead>
              <tr>
                <th scope="col">Start</th>
                <th scope="col" className="num">
                  Down
                </th>
                {total !== null && <th scope="col">Of the budget</th>}
                {columns.excluded && (
                  <th scope="col" className="num">
                    In maintenance
                  </th>
                )}
                {columns.unknown && (
                  <th scope="col" className="num">
                    Unknown
                  </th>
                )}
                <th scope="col" className="num">
                  Whole length
                </th>
                <th scope="col">Incident</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((outage) => (
                <Row
                  key={outage.start}
                  outage={outage}
                  total={total}
                  columns={columns}
                  zone={report.slo.window.timezone}
                  now={now}
                />
              ))}
            </tbody>
          </table>
        </ScrollX>
      )}
    </Card>
  );
}

function usedWords(report: Report): string {
  const [total, used] = [totalOf(report), report.budget.consumed_ratio];
  if (total === null || used == null) return "";
  return `${percent(used, 1)} of ${amount(total, unitOf(report))} is used`;
}

function Row(props: {
  outage: Outage;
  total: number | null;
  columns: { excluded: boolean; unknown: boolean };
  zone: string;
  now: number;
}) {
  const { outage, total, columns, zone, now } = props;
  const share = total && total > 0 ? outage.downtime_ms / total : null;
  const zero = (ms: number) => (ms > 0 ? lasting(ms) : "");
  return (
    <tr>
      <th scope="row" className="nowrap small-weight" title={`${utc(outage.start)} – ${utc(outage.end)}`}>
        {when(epoch(outage.start), now, zone)}
      </th>
      <td className="num strong">{lasting(outage.downtime_ms)}</td>
      {total !== null && (
        <td>
          <span className="row nowrap-start">
            <svg width="90" height="10" aria-hidden="true">
              <rect width={Math.max(2, Math.min(1, share ?? 0) * 90)} height="10" fill="var(--down)" />
            </svg>
            {percent(share, 1)}
          </span>
        </td>
      )}
      {columns.excluded && <td className="num soft">{zero(outage.excluded_ms)}</td>}
      {columns.unknown && <td className="num soft">{zero(outage.unknown_ms)}</td>}
      <td className="num">
        {lasting(outage.duration_full_ms)}
        {outage.ongoing && <span className="strong"> so far</span>}
      </td>
      <td>
        {outage.incident ? (
          <Link to={`/incidents/${outage.incident}`}>{outage.ongoing ? "Open incident" : "Incident"}</Link>
        ) : (
          <span className="muted">none</span>
        )}
      </td>
    </tr>
  );
}
