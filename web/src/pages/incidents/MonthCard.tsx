import { api, type Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { IncidentHead, IncidentRows } from "../../components/IncidentTable";
import { Timeline } from "../../components/Timeline";
import { useTwin } from "../../components/Twin";
import { plural } from "../../lib/format";
import { wordOf } from "../../lib/states";

const DAY = 86_400;

/** Thirty days of incidents on one axis, a lane for each severity. */
export function MonthCard({
  about,
  now,
}: {
  about: { monitor?: string; fleet?: string; kind?: Schemas["IncidentKind"] };
  now: number;
}) {
  const twin = useTwin();
  const to = Math.ceil(now / 3600) * 3600;
  const from = to - 30 * DAY;
  const list = api.useQuery("get", "/api/v1/incidents", {
    params: { query: { from: new Date(from * 1000).toISOString(), limit: 500, ...about } },
  });
  const rows = list.data?.items ?? [];
  if (rows.length === 0) return null;
  const lanes = (["down", "partial", "degraded"] as const).map((peak) => ({
    name: wordOf(peak),
    intervals: rows
      .filter((row) => row.peak === peak)
      .map((row) => ({ from: row.started_at, to: row.ended_at ?? null, state: row.suppressed ? "maintenance" : peak })),
  }));
  return (
    <Card
      title="30 days"
      beside={`${plural(rows.length, "incident")}${list.data?.next ? " and more" : ""}; bars are at least 2 px wide`}
      actions={twin.button}
    >
      {twin.asTable ? (
        <table className="grid folds">
          <caption className="hidden-visually">Incidents of 30 days</caption>
          <IncidentHead />
          <tbody>
            <IncidentRows rows={rows} now={now} />
          </tbody>
        </table>
      ) : (
        <div className="body">
          <Timeline lanes={lanes} from={from} to={to} />
        </div>
      )}
    </Card>
  );
}
