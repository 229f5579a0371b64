import { useQueries } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { Empty } from "../../components/Status";
import { useNow } from "../../lib/ticker";
import { RemovalTable } from "../fleet/RemovalTable";

type Fleet = Schemas["Fleet"];

/** What was taken out of rotation in the last day, in every fleet. */
export function RecentRemovals({ fleets }: { fleets: readonly Fleet[] }) {
  const now = useNow();
  const from = new Date(Math.floor(now / 60) * 60_000 - 86_400_000).toISOString();
  const answers = useQueries({
    queries: fleets.map((fleet) =>
      api.queryOptions("get", "/api/v1/fleets/{id}/removals", {
        params: { path: { id: fleet.id }, query: { from, limit: 50 } },
      }),
    ),
  });
  const rows = fleets
    .flatMap((fleet, i) => (answers[i]?.data?.items ?? []).map((removal) => ({ fleet, removal })))
    .sort((a, b) => b.removal.removed_at.localeCompare(a.removal.removed_at))
    .slice(0, 50);
  return (
    <Card title="Removed and returned" beside="last 24 h, every fleet">
      {rows.length === 0 ? (
        <Empty>Nothing was taken out of rotation.</Empty>
      ) : (
        <RemovalTable
          removals={rows.map((row) => row.removal)}
          name={(_, i) => {
            const row = rows[i];
            return row ? (
              <>
                <Link to={`/fleets/${row.fleet.id}`}>{row.fleet.name}</Link>{" "}
                <span className="small-weight">{row.removal.instance}</span>
              </>
            ) : null;
          }}
        />
      )}
    </Card>
  );
}
