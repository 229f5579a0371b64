import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { plural } from "../../lib/format";
import { spanWords } from "../../lib/maintenance";
import { epoch, utc } from "../../lib/time";
import { heardOf } from "./quiet";

const DAY = 86_400;
/** As many as stand in the table; those in which nothing failed are one line. */
const MOST = 12;

/** What happened inside the silence of the last thirty days, and what was told after it. */
export function QuietCard({ now }: { now: number }) {
  const to = Math.ceil(now / 3600) * 3600;
  const iso = (at: number) => new Date(at * 1000).toISOString();
  const query = { from: iso(to - 30 * DAY), limit: 500 };
  const incidents = api.useQuery("get", "/api/v1/incidents", { params: { query } });
  const past = api.useQuery("get", "/api/v1/maintenance/occurrences", { params: { query: { ...query, to: iso(to) } } });
  if (!incidents.data || !past.data) return null;
  const rows = heardOf(past.data.items, incidents.data.items);
  if (rows.length === 0) return null;
  const loud = rows.filter((row) => row.silenced.length + row.after.length > 0).slice(0, MOST);
  const calm = rows.length - loud.length;
  return (
    <Card title="While it was silent" beside="last 30 days">
      <ScrollX label="While it was silent">
        <table className="grid dense">
          <caption className="hidden-visually">What happened in maintenance</caption>
          <thead>
            <tr>
              <th scope="col">Window</th>
              <th scope="col">What happened inside</th>
              <th scope="col" className="num">
                Silenced
              </th>
              <th scope="col" className="num">
                Told after
              </th>
            </tr>
          </thead>
          <tbody>
            {loud.map(({ occurrence, silenced, after }) => (
              <tr key={`${occurrence.maintenance}${occurrence.start}`}>
                <th scope="row" className="small-weight" title={utc(occurrence.start)}>
                  {occurrence.name}
                  <div className="muted small nowrap">
                    {spanWords(epoch(occurrence.start) ?? 0, epoch(occurrence.end) ?? 0, now)}
                  </div>
                </th>
                <td className="break">
                  <Happened incidents={[...silenced, ...after]} />
                </td>
                <td className="num">{silenced.length + after.length}</td>
                <td className="num">{after.length > 0 ? <b>{after.length}</b> : 0}</td>
              </tr>
            ))}
            {calm > 0 && (
              <tr>
                <th scope="row" className="small-weight">
                  {loud.length > 0 ? plural(calm, "other") : plural(calm, "occurrence")}
                </th>
                <td className="soft">nothing failed</td>
                <td className="num">0</td>
                <td className="num">0</td>
              </tr>
            )}
          </tbody>
        </table>
      </ScrollX>
    </Card>
  );
}

function Happened({ incidents }: { incidents: readonly Schemas["IncidentRow"][] }) {
  const shown = incidents.slice(0, 3);
  return (
    <>
      {shown.map((one, i) => (
        <span key={one.id}>
          {i > 0 && ", "}
          <Link to={`/incidents/${one.id}`}>{one.monitor?.name ?? one.title}</Link>
        </span>
      ))}
      {incidents.length > shown.length && ` and ${incidents.length - shown.length} more`}
    </>
  );
}
