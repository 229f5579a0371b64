import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { StateMark } from "../../components/StateMark";
import { count } from "../../lib/format";
import { lasting, pct } from "../../lib/slos";
import { epoch, when } from "../../lib/time";
import { unitOf } from "./words";

type Report = Schemas["SloReport"];

/** Classes of time: every millisecond that has passed is in exactly one. */
export function TimeCard({ report, now }: { report: Report; now: number }) {
  const time = report.time_ms;
  const { partial_weight_ppm: weight, unknown_policy, maintenance_policy, window } = report.slo;
  const rows: [string, string, number][] = [
    ["up", time.degraded > 0 ? `Up, of it slow ${lasting(time.degraded)}` : "Up", time.up],
    [
      "partial",
      weight > 0 ? `Partial, ${weight / 10_000}\u00a0% of it bad` : "Partial, not counted as bad",
      time.partial,
    ],
    ["down", "Down", time.down],
    ["unknown", `Unknown, ${unknownWords[unknown_policy]}`, time.unknown],
    ["maintenance", `Maintenance, ${maintenanceWords[maintenance_policy]}`, time.excluded],
    ["paused", "Paused", time.paused],
    ["pending", "Not monitored", time.not_monitored],
  ];
  const [start, told] = [epoch(report.window.start) ?? 0, epoch(report.window.watermark) ?? 0];
  return (
    <Card title="Where the time went" footer={<Coverage report={report} />}>
      <table className="grid dense">
        <caption className="hidden-visually">Classes of time</caption>
        <tbody>
          {rows.map(([mark, word, ms]) => (
            <tr key={mark}>
              <th scope="row" className="small-weight">
                <span className="state">
                  <StateMark state={mark} /> <span className="wraps">{word}</span>
                </span>
              </th>
              <td className="num">{lasting(ms)}</td>
            </tr>
          ))}
          <tr>
            <th scope="row">
              {when(start, now, window.timezone)} to {when(told, now, window.timezone)}
            </th>
            <td className="num strong">{lasting((told - start) * 1000)}</td>
          </tr>
        </tbody>
      </table>
      {unitOf(report) === "events" && <Events events={report.events} />}
    </Card>
  );
}

export const unknownWords: Record<Schemas["UnknownPolicy"], string> = {
  exclude: "left out",
  up: "counted as up",
  down: "counted as down",
};

export const maintenanceWords: Record<Schemas["MaintenancePolicy"], string> = {
  exclude: "left out",
  count_as_up: "counted as up",
  ignore: "only a label",
};

function Events({ events }: { events: Report["events"] }) {
  const rows: [string, number][] = [
    ["Good", events.good],
    ["Counted", events.total],
    ["Expected", events.expected],
    ["Not valid", events.invalid],
    ["Missing", events.missing],
  ];
  return (
    <table className="grid dense">
      <caption className="hidden-visually">Events</caption>
      <tbody>
        {rows.map(([word, n]) => (
          <tr key={word}>
            <th scope="row" className="small-weight">
              {word}
            </th>
            <td className="num">{count(n)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Coverage({ report }: { report: Report }) {
  const { coverage, availability, requests } = report;
  return (
    <>
      The classes add up to the time that has passed. Coverage {pct(coverage.pct)}
      {coverage.ok ? "" : ", too little for a verdict"}.
      {availability.worst_pct && availability.best_pct && availability.worst_pct !== availability.best_pct
        ? ` Between ${pct(availability.worst_pct)} and ${pct(availability.best_pct)}, as the unknown time may have been.`
        : ""}
      {availability.raw_pct ? ` Raw, with maintenance counted: ${pct(availability.raw_pct)}.` : ""}
      {availability.approx ? " The count of quick results is an interval; these are the figures of its worse end." : ""}
      {requests
        ? ` Judged by requests ${lasting(requests.by_requests_ms)}, by the monitor ${lasting(requests.by_monitor_ms)}.`
        : ""}
    </>
  );
}
