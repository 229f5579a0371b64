import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { PhaseBar, PhaseLegend, phaseAxis } from "../../components/PhaseBars";
import { Empty } from "../../components/Status";
import { micros } from "../../lib/format";
import { saw } from "./results";

/** Where the time goes: the last result of each location, phase by phase on one axis. */
export function PhasesCard({ latest }: { latest: readonly Schemas["ObservationRow"][] }) {
  const gaveUp = (row: Schemas["ObservationRow"]) => /timeout/.test(row.class ?? "");
  const max = phaseAxis(latest.map((row) => ({ total: row.phases_us.total, gaveUp: gaveUp(row) })));
  return (
    <Card title="Where the time goes" beside="last result, by location" actions={<PhaseLegend />}>
      {latest.length === 0 ? (
        <Empty>The first results show here what lookup, connection, TLS and answer take.</Empty>
      ) : (
        <table className="grid dense">
          <caption className="hidden-visually">Last result by location and phase</caption>
          <thead className="hidden-visually">
            <tr>
              <th scope="col">Location</th>
              <th scope="col">Phases</th>
              <th scope="col">Total</th>
              <th scope="col">Saw</th>
            </tr>
          </thead>
          <tbody>
            {latest.map((row) => (
              <tr key={row.location}>
                <th scope="row">{row.location_name}</th>
                <td className="phase-cell">
                  <PhaseBar phases={row.phases_us} max={max} gaveUp={gaveUp(row)} />
                </td>
                <td className="num">{micros(row.phases_us.total)}</td>
                <td className="soft">{saw(row)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}
