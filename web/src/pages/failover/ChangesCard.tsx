import { useInfiniteQuery } from "@tanstack/react-query";
import { http, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { StateWord } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { list, NONE } from "../../lib/format";
import { useNow } from "../../lib/ticker";
import { utc, when } from "../../lib/time";

/** What was served when. */
export function ChangesCard({ group }: { group: Schemas["FailoverGroup"] }) {
  const now = useNow();
  const changes = useInfiniteQuery({
    queryKey: ["get", "/api/v1/failover/{id}/changes", { params: { path: { id: group.id } } }],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }): Promise<Schemas["List_FailoverChange"]> => {
      const params = { path: { id: group.id }, query: { limit: 20, cursor: pageParam } };
      const page = await http.GET("/api/v1/failover/{id}/changes", { params });
      return page.data ?? { items: [], next: null };
    },
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const items = changes.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Card
      title="What was served when"
      footer={
        changes.hasNextPage && (
          <Button compact busy={changes.isFetchingNextPage} onClick={() => void changes.fetchNextPage()}>
            Show more
          </Button>
        )
      }
    >
      {changes.isPending && <Loading rows={2} />}
      {changes.isError && <Failed error={changes.error} retry={() => void changes.refetch()} />}
      {changes.data && items.length === 0 && (
        <Empty>
          Nothing has changed since it was made. A change is written down here when a member goes or returns.
        </Empty>
      )}
      {items.length > 0 && (
        <ScrollX label="What was served when">
          <table className="grid folds dense">
            <caption className="hidden-visually">Changes, the latest first</caption>
            <thead>
              <tr>
                <th scope="col">From</th>
                <th scope="col">In</th>
                <th scope="col">In words</th>
              </tr>
            </thead>
            <tbody>
              {items.map((one) => (
                <tr key={one.at}>
                  <th scope="row" className="nowrap small-weight" title={utc(one.at)}>
                    {when(one.at, now)}
                  </th>
                  <td className="break">{one.serve.length > 0 ? list(one.serve) : NONE}</td>
                  <td className="second soft">
                    {one.fail_open && <StateWord state="down" word="Fails open" />} {one.sentence}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollX>
      )}
    </Card>
  );
}
