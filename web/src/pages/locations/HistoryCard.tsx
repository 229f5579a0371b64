import { NativeSelect } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { http, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { Empty, Failed, Loading } from "../../components/Status";
import { duration } from "../../lib/format";
import { epoch, utc, when } from "../../lib/time";
import { useUrlState } from "../../lib/useUrlState";
import { endedWords } from "./words";

type Location = Schemas["Location"];

/** When votes of a location did not count, and how that ended. */
export function HistoryCard({ locations, now }: { locations: readonly Location[]; now: number }) {
  const [chosen, setChosen] = useUrlState("history");
  const aside = locations.find((one) => one.health === "quarantined");
  const location = locations.find((one) => one.id === chosen) ?? aside ?? locations[0];
  if (!location) return null;
  return (
    <Card
      title="Quarantines"
      beside={
        <NativeSelect
          aria-label="Of which location"
          value={location.id}
          onChange={(event) => setChosen(event.currentTarget.value, true)}
          data={locations.map((one) => ({ value: one.id, label: one.name }))}
        />
      }
    >
      <History key={location.id} location={location} now={now} />
    </Card>
  );
}

function History({ location, now }: { location: Location; now: number }) {
  const params = { path: { id: location.id } };
  const past = useInfiniteQuery({
    queryKey: ["get", "/api/v1/locations/{id}/quarantines", { params }],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }): Promise<Schemas["List_Quarantine"]> => {
      const page = await http.GET("/api/v1/locations/{id}/quarantines", {
        params: { ...params, query: { limit: 10, cursor: pageParam } },
      });
      return page.data ?? { items: [], next: null };
    },
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const items = past.data?.pages.flatMap((page) => page.items) ?? [];
  if (past.isPending) return <Loading rows={2} />;
  if (past.isError) return <Failed error={past.error} retry={() => void past.refetch()} />;
  if (items.length === 0)
    return (
      <Empty>
        {location.name} was never quarantined. If its references fail or it disagrees with most others, its votes are
        set aside, and that is written down here.
      </Empty>
    );
  return (
    <>
      <ScrollX label={`Quarantines of ${location.name}`}>
        <table className="grid folds dense">
          <caption className="hidden-visually">Quarantines of {location.name}, the latest first</caption>
          <thead>
            <tr>
              <th scope="col">From</th>
              <th scope="col" className="num">
                Lasted
              </th>
              <th scope="col">Why</th>
              <th scope="col">How it ended</th>
            </tr>
          </thead>
          <tbody>
            {items.map((one) => (
              <tr key={one.since}>
                <th scope="row" className="nowrap small-weight" title={utc(one.since)}>
                  {when(one.since, now)}
                </th>
                <td className="num">{duration((epoch(one.until) ?? now) - (epoch(one.since) ?? now))}</td>
                <td className="second break">{one.reason}</td>
                <td className="second soft">{endedWords(one)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollX>
      {past.hasNextPage && (
        <div className="actions">
          <Button compact busy={past.isFetchingNextPage} onClick={() => void past.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}
