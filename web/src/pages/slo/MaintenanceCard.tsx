import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { StateWord } from "../../components/StateMark";
import { Empty } from "../../components/Status";
import { lasting } from "../../lib/slos";
import { epoch, utc, when } from "../../lib/time";
import { maintenanceWords } from "./TimeCard";

/** Planned work, and what was corrected after the fact, with the time that each leaves out. */
export function MaintenanceCard({ report, now }: { report: Schemas["SloReport"]; now: number }) {
  const zone = report.slo.window.timezone;
  const words = maintenanceWords[report.slo.maintenance_policy];
  return (
    <Card
      title="Maintenance and corrections"
      beside={`declared before: ${words}; corrections came after, with a reason`}
    >
      {report.maintenance.length === 0 && <Empty>None in this window.</Empty>}
      {report.maintenance.length > 0 && (
        <ScrollX label="Maintenance and corrections">
          <table className="grid dense">
            <caption className="hidden-visually">Maintenance and corrections in the window</caption>
            <thead>
              <tr>
                <th scope="col">From</th>
                <th scope="col">To</th>
                <th scope="col">Kind</th>
                <th scope="col" className="num">
                  Left out
                </th>
                <th scope="col">Reason</th>
              </tr>
            </thead>
            <tbody>
              {report.maintenance.map((one) => (
                <tr key={`${one.id}${one.start}`}>
                  <th scope="row" className="small-weight nowrap" title={utc(one.start)}>
                    {when(epoch(one.start), now, zone)}
                  </th>
                  <td className="nowrap" title={utc(one.end)}>
                    {when(epoch(one.end), now, zone)}
                  </td>
                  <td>{one.kind === "correction" ? "Correction" : <StateWord state="maintenance" word="Planned" />}</td>
                  <td className="num">{lasting(one.excluded_ms)}</td>
                  <td className="break">{one.reason}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollX>
      )}
    </Card>
  );
}
