import { NativeSelect } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { api, http, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { IncidentHead, IncidentRows } from "../../components/IncidentTable";
import { Page } from "../../components/Page";
import { StateMark } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { count, list, plural } from "../../lib/format";
import { subjectOf } from "../../lib/incidents";
import { useKeys } from "../../lib/keys";
import { rank } from "../../lib/states";
import { useNow } from "../../lib/ticker";
import { longDay } from "../../lib/time";
import { useRows } from "../../lib/useRows";
import { useUrlState } from "../../lib/useUrlState";
import { MonthCard } from "./MonthCard";

type Row = Schemas["IncidentRow"];

const kinds = [
  ["monitor", "about monitors"],
  ["fleet", "about fleets"],
  ["slo", "about SLOs"],
  ["certificate", "about certificates"],
  ["platform", "about Quorate itself"],
] as const;

/** Incidents: the open ones worst first, then by day. Which ones are shown lives in the address. */
export function IncidentsPage() {
  const now = useNow();
  const [state, setState] = useUrlState("state");
  const [monitor, setMonitor] = useUrlState("monitor");
  const [fleet, setFleet] = useUrlState("fleet");
  const [word, setKind] = useUrlState("kind");
  const kind = kinds.find(([known]) => known === word)?.[0];
  const about = { ...(monitor ? { monitor } : {}), ...(fleet ? { fleet } : {}), ...(kind ? { kind } : {}) };
  const field = useRef<HTMLInputElement>(null);
  const open = api.useQuery("get", "/api/v1/incidents", {
    params: { query: { state: "open", limit: 500, ...about } },
  });
  const past = useInfiniteQuery({
    queryKey: ["get", "/api/v1/incidents", "resolved", monitor, fleet, kind],
    enabled: state !== "open",
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }) =>
      (
        await http.GET("/api/v1/incidents", {
          params: { query: { state: "resolved", limit: 50, cursor: pageParam, ...about } },
        })
      ).data ?? {
        items: [],
        next: null,
      },
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const openRows = [...(open.data?.items ?? [])].sort(
    (a, b) => rank(a.severity) - rank(b.severity) || b.opened_at.localeCompare(a.opened_at),
  );
  const pastRows = past.data?.pages.flatMap((page) => page.items) ?? [];
  const shown = [...(state === "resolved" ? [] : openRows), ...(state === "open" ? [] : pastRows)];
  const here = useRows(
    shown.map((row) => row.id),
    (id) => `/incidents/${id}`,
  );
  useKeys({ "/": () => field.current?.focus() });
  return (
    <Page crumbs={[{ word: "Incidents" }]}>
      <h1>{open.data ? incidentsSentence(openRows) : "Incidents"}</h1>
      <MonthCard about={about} now={now} />
      <Card
        title="Incidents"
        beside={
          <span className="row">
            <input
              ref={field}
              className="query"
              type="search"
              aria-label="Of one monitor"
              placeholder="monitor's name"
              value={monitor}
              onChange={(event) => setMonitor(event.currentTarget.value)}
            />
            {fleet && (
              <button type="button" className="chip" aria-pressed="true" onClick={() => setFleet("", true)}>
                fleet {fleet}
                <span className="hidden-visually">: show all again</span> <span aria-hidden="true">×</span>
              </button>
            )}
            <NativeSelect
              aria-label="About what"
              value={kind ?? ""}
              onChange={(event) => setKind(event.currentTarget.value, true)}
              data={[{ value: "", label: "about anything" }, ...kinds.map(([value, label]) => ({ value, label }))]}
            />
            {[
              ["", "All"],
              ["open", "Open"],
              ["resolved", "Resolved"],
            ].map(([value, word]) => (
              <button
                key={word}
                type="button"
                className="chip"
                aria-pressed={state === value}
                onClick={() => setState(value ?? "", true)}
              >
                {value === "open" && openRows[0] && <StateMark state={openRows[0].severity} />}
                {value === "open" && <b>{count(openRows.length)}</b>} {word}
              </button>
            ))}
          </span>
        }
        footer={
          past.hasNextPage && state !== "open" ? (
            <Button compact busy={past.isFetchingNextPage} onClick={() => void past.fetchNextPage()}>
              Show earlier ones
            </Button>
          ) : (
            "An incident's length is back-dated to the first failing and the first passing result; it does not contain the time that deciding took."
          )
        }
      >
        {(open.isPending || (past.isPending && state !== "open")) && <Loading rows={5} />}
        {open.isError && <Failed error={open.error} retry={() => void open.refetch()} />}
        {past.isError && <Failed error={past.error} retry={() => void past.refetch()} />}
        {open.data && !past.isPending && shown.length === 0 && (
          <Empty>
            {monitor || fleet || kind || state
              ? "None like this."
              : "None so far. When enough locations agree that something fails, it appears here."}
          </Empty>
        )}
        {shown.length > 0 && (
          <div className="scroll-x">
            <table className="grid folds">
              <caption className="hidden-visually">Incidents, open ones first</caption>
              <IncidentHead />
              <tbody>
                {state !== "resolved" && openRows.length > 0 && (
                  <IncidentRows
                    rows={openRows}
                    now={now}
                    here={here}
                    heading={`Open, ${plural(openRows.length, "incident")}, the worst first`}
                  />
                )}
                {state !== "open" &&
                  byDay(pastRows).map(([day, rows]) => (
                    <IncidentRows key={day} rows={rows} now={now} here={here} heading={day} />
                  ))}
              </tbody>
            </table>
          </div>
        )}
      </Card>
    </Page>
  );
}

/** What is open, and whether anybody has answered. */
export function incidentsSentence(open: readonly Row[]): string {
  const told = open.filter((row) => !row.suppressed);
  if (told.length === 0) return "No incident is open.";
  const unanswered = told.filter((row) => row.severity === "down" && !row.acked_at && row.kind !== "platform");
  const waiting = [...new Set(unanswered.map(subjectOf))];
  const fleets = unanswered.filter((row) => row.fleet).length;
  const state = fleets === 0 ? "down" : fleets === unanswered.length ? "failing" : "down or failing";
  const many = told.length === 1 ? "1 incident is open" : `${told.length} incidents are open`;
  if (waiting.length === 0) return `${many}.`;
  return `${many}. ${list(waiting.slice(0, 3))}${waiting.length > 3 ? ` and ${waiting.length - 3} more` : ""} ${waiting.length === 1 ? "is" : "are"} ${state}, and nobody has answered.`;
}

function byDay(rows: readonly Row[]): [string, Row[]][] {
  const days = new Map<string, Row[]>();
  for (const row of rows) {
    const day = longDay(row.started_at);
    days.set(day, [...(days.get(day) ?? []), row]);
  }
  return [...days];
}
