import { useInfiniteQuery } from "@tanstack/react-query";
import { Fragment, useState } from "react";
import { http, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { StateWord } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { duration, NONE } from "../../lib/format";
import { useNow } from "../../lib/ticker";
import { ago, utc, when } from "../../lib/time";
import { useUrlState } from "../../lib/useUrlState";
import { callWord, markOfCall } from "./job";

type Call = Schemas["Heartbeat"];

const kinds = [
  ["", "All"],
  ["success", "Successes"],
  ["fail", "Failures"],
] as const;

/** What the job said, the latest first. */
export function JobCallsCard({ id }: { id: string }) {
  const [kind, setKind] = useUrlState("calls");
  const [open, setOpen] = useState<string | null>(null);
  const now = useNow();
  const list = useInfiniteQuery({
    queryKey: ["get", "/api/v1/monitors/{id}/heartbeats", id, kind],
    initialPageParam: undefined as string | undefined,
    refetchInterval: 15_000,
    queryFn: async ({ pageParam }) => {
      const query = { limit: 25, cursor: pageParam, kind: kind === "" ? undefined : (kind as Call["kind"]) };
      const answer = await http.GET("/api/v1/monitors/{id}/heartbeats", { params: { path: { id }, query } });
      return answer.data ?? { items: [], next: null };
    },
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const rows = list.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Card
      title="Calls of the job"
      beside="the latest first"
      actions={
        <span className="row" role="group" aria-label="Which calls">
          {kinds.map(([value, word]) => (
            <button
              key={word}
              type="button"
              className="button compact"
              aria-pressed={kind === value}
              onClick={() => setKind(value, true)}
            >
              {word}
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
        <Empty>{kind ? "No such call is kept." : "The job has not called yet. The lines above make it call."}</Empty>
      )}
      {rows.length > 0 && (
        <table className="grid dense folds">
          <caption className="hidden-visually">Calls of the job</caption>
          <thead>
            <tr>
              <th scope="col">Said</th>
              <th scope="col">At</th>
              <th scope="col" className="num">
                Took
              </th>
              <th scope="col">From</th>
              <th scope="col">
                <span className="hidden-visually">Output</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Line
                key={row.at}
                row={row}
                now={now}
                open={open === row.at}
                toggle={() => setOpen(open === row.at ? null : row.at)}
              />
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

function Line({ row, now, open, toggle }: { row: Call; now: number; open: boolean; toggle: () => void }) {
  return (
    <Fragment>
      <tr>
        <td>
          <StateWord state={markOfCall(row)} word={callWord(row)} />
          {!row.counted && <span className="muted small"> while paused</span>}
        </td>
        <td className="nowrap" title={utc(row.at)}>
          {when(row.at, now)} <span className="muted small">{ago(row.at, now)}</span>
        </td>
        <td className="num">{row.duration_ms == null ? NONE : duration(row.duration_ms / 1000)}</td>
        <td className="second">
          {row.source} {row.agent && <span className="muted small break">{row.agent}</span>}
        </td>
        <td className="num end">
          {row.evidence && (
            <button type="button" className="link small" aria-expanded={open} onClick={toggle}>
              Output
            </button>
          )}
        </td>
      </tr>
      {open && row.evidence && (
        <tr>
          <td colSpan={5} className="second">
            <pre className="raw">{row.evidence}</pre>
          </td>
        </tr>
      )}
    </Fragment>
  );
}
