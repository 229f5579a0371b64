import { useInfiniteQuery } from "@tanstack/react-query";
import { Fragment, useState } from "react";
import { http, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { EvidenceView } from "../../components/Evidence";
import { StateWord } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { micros } from "../../lib/format";
import { useNow } from "../../lib/ticker";
import { ago, utc, when } from "../../lib/time";
import { useUrlState } from "../../lib/useUrlState";
import { saw } from "./results";

const kinds: Record<string, string> = { scheduled: "", retry: "retry", confirm: "confirmation", manual: "by hand" };
const notFolded: Record<string, string> = { folded: "", freshness: "freshness only" };

/** Recent raw results with their evidence; which ones are shown lives in the address. */
export function ResultsCard({ id, locations }: { id: string; locations: readonly string[] }) {
  const [outcome, setOutcome] = useUrlState("outcome");
  const [from, setFrom] = useUrlState("result_from");
  const [open, setOpen] = useState<string | null>(null);
  const now = useNow();
  const list = useInfiniteQuery({
    queryKey: ["get", "/api/v1/monitors/{id}/observations", id, outcome, from],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }) => {
      const query = {
        limit: 25,
        cursor: pageParam,
        outcome: outcome === "" ? undefined : (outcome as Schemas["Outcome"]),
        location: from === "" ? undefined : from,
      };
      return (
        (await http.GET("/api/v1/monitors/{id}/observations", { params: { path: { id }, query } })).data ?? {
          items: [],
          next: null,
        }
      );
    },
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const rows = list.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Card
      title="Results"
      beside="raw, the latest first"
      actions={
        <span className="row" role="group" aria-label="Which results">
          {[
            ["", "All"],
            ["fail", "Fails"],
            ["error", "Not judged"],
          ].map(([value, word]) => (
            <button
              key={word}
              type="button"
              className="button compact"
              aria-pressed={outcome === value}
              onClick={() => setOutcome(value ?? "", true)}
            >
              {word}
            </button>
          ))}
          {["", ...locations].map((name) => (
            <button
              key={name}
              type="button"
              className="button compact"
              aria-pressed={from === name}
              onClick={() => setFrom(name, true)}
            >
              {name || "everywhere"}
            </button>
          ))}
        </span>
      }
      footer={
        list.hasNextPage && (
          <Button compact busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Show more
          </Button>
        )
      }
    >
      {list.isPending && <Loading rows={5} height={30} />}
      {list.isError && <Failed error={list.error} retry={() => void list.refetch()} />}
      {list.data && rows.length === 0 && (
        <Empty>{outcome || from ? "No such result is kept." : "The first result is on its way."}</Empty>
      )}
      {rows.length > 0 && (
        <table className="grid dense folds">
          <caption className="hidden-visually">Recent results</caption>
          <thead>
            <tr>
              <th scope="col">Result</th>
              <th scope="col">At</th>
              <th scope="col">Location</th>
              <th scope="col">Saw</th>
              <th scope="col" className="num">
                Took
              </th>
              <th scope="col">Kind</th>
              <th scope="col">
                <span className="hidden-visually">Evidence</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => {
              const key = `${row.at}${row.location}${row.kind}`;
              return (
                <Fragment key={key}>
                  <tr>
                    <td>
                      <StateWord state={row.outcome} />
                    </td>
                    <td className="nowrap" title={utc(row.at)}>
                      {when(row.at, now)} <span className="muted small">{ago(row.at, now)}</span>
                    </td>
                    <td>{row.location_name}</td>
                    <td className="second">{saw(row)}</td>
                    <td className="num end">{micros(row.phases_us?.total)}</td>
                    <td className="off muted">
                      {[kinds[row.kind], notFolded[row.disposition] ?? row.disposition.replaceAll("_", " ")]
                        .filter(Boolean)
                        .join(", ")}
                    </td>
                    <td className="num">
                      {row.detail && (
                        <button
                          type="button"
                          className="link small"
                          aria-expanded={open === key}
                          onClick={() => setOpen(open === key ? null : key)}
                        >
                          Evidence
                        </button>
                      )}
                    </td>
                  </tr>
                  {open === key && row.detail && (
                    <tr>
                      <td colSpan={7} className="second">
                        <EvidenceView seen={row.detail} />
                      </td>
                    </tr>
                  )}
                </Fragment>
              );
            })}
          </tbody>
        </table>
      )}
    </Card>
  );
}
