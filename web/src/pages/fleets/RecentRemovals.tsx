import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { Empty, Failed, Loading } from "../../components/Status";
import { useNow } from "../../lib/ticker";
import { epoch } from "../../lib/time";
import { RemovalTable } from "../fleet/RemovalTable";

type Fleet = Schemas["Fleet"];

/** s. */
const DAY = 86_400;

/** What was taken out of rotation in the last day, in every fleet. */
export function RecentRemovals({ fleets }: { fleets: readonly Fleet[] }) {
  const now = useNow();
  // Asked for once, so that nothing vanishes while it is asked for anew; what grows old is left out here.
  const [from] = useState(() => new Date((now - DAY) * 1000).toISOString());
  const answers = useQueries({
    queries: fleets.map((fleet) =>
      api.queryOptions("get", "/api/v1/fleets/{id}/removals", {
        params: { path: { id: fleet.id }, query: { from, limit: 50 } },
      }),
    ),
  });
  const rows = fleets
    .flatMap((fleet, i) => (answers[i]?.data?.items ?? []).map((removal) => ({ fleet, removal })))
    .filter(({ removal }) => (epoch(removal.removed_at) ?? 0) >= now - DAY)
    .sort((a, b) => b.removal.removed_at.localeCompare(a.removal.removed_at))
    .slice(0, 50);
  const failed = answers.find((answer) => answer.isError);
  return (
    <Card title="Removed and returned" beside="last 24 h, every fleet">
      {answers.some((answer) => answer.isPending) ? (
        <Loading rows={2} />
      ) : failed ? (
        <Failed error={failed.error} retry={() => void failed.refetch()} />
      ) : rows.length === 0 ? (
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
