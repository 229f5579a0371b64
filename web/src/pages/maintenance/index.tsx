import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button, ButtonLink } from "../../components/Button";
import { Card } from "../../components/Card";
import { ConfirmDelete } from "../../components/Confirm";
import { Page } from "../../components/Page";
import { StateWord } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { duration } from "../../lib/format";
import { maintenanceSentence, type Names, scopeWords } from "../../lib/maintenance";
import { tell, tellProblem } from "../../lib/tell";
import { useNow } from "../../lib/ticker";
import { epoch, hourMinute, when, zoneLabel } from "../../lib/time";
import { tellUndo } from "../../lib/undo";
import { ownZone } from "../../lib/zones";
import { CalendarCard } from "./CalendarCard";
import { midnights } from "./calendar";
import { type EntryActions, EntryTable, inOrder } from "./EntryTable";
import { QuietCard } from "./QuietCard";

type Maintenance = Schemas["Maintenance"];

const iso = (at: number) => new Date(at * 1000).toISOString();

/** Maintenance: now, next, the calendar, and what it does to SLOs. */
export function MaintenancePage() {
  const role = useRole();
  const now = useNow();
  const entries = useEntries();
  const names = useNames();
  const days = midnights(now, ownZone());
  const [from = now, to = now] = [days[0], days[days.length - 1]];
  const calendar = api.useQuery(
    "get",
    "/api/v1/maintenance/occurrences",
    { params: { query: { from: iso(from), to: iso(to), limit: 500 } } },
    { placeholderData: (before) => before },
  );
  const occurrences = calendar.data?.items ?? [];
  const { actions, deleting, close, remove } = useActions();
  const current = inOrder(entries.items.filter((one) => one.phase !== "past"));
  const past = entries.items.filter((one) => one.phase === "past");
  const running = current.find((one) => one.phase === "running" && one.kind === "planned");
  const editor = role("editor");
  return (
    <Page crumbs={[{ word: "Maintenance" }]}>
      <div className="headline">
        <div>
          {running && <Running one={running} names={names} now={now} />}
          <h1>{calendar.data ? maintenanceSentence(occurrences, now) : "Maintenance"}</h1>
          {calendar.data && entries.items.length === 0 && (
            <p className="lead">
              Plan work beforehand: its alerts are silent, and its time is neither up nor down in any SLO.
            </p>
          )}
        </div>
        {editor && (
          <div className="actions">
            <ButtonLink primary to="/maintenance/new">
              Plan a window
            </ButtonLink>
            {running && <Button onClick={() => actions.end(running)}>End now</Button>}
            <ButtonLink to="/maintenance/new?kind=correction">Enter a correction</ButtonLink>
          </div>
        )}
      </div>
      {calendar.isError && <Failed error={calendar.error} retry={() => void calendar.refetch()} />}
      {occurrences.length > 0 && (
        <CalendarCard
          occurrences={occurrences}
          more={calendar.data?.next != null}
          entries={entries.items}
          names={names}
          now={now}
        />
      )}
      <Card
        title="Windows and plans"
        beside={current.length > 0 && "what each one silences, and what it does to the numbers"}
        footer={
          current.length > 0 &&
          `Times are in ${zoneLabel(now)}. Silence lasts two intervals past the end, so that a slow start is not a page.`
        }
      >
        {entries.pending && <Loading rows={3} height={52} />}
        {entries.error != null && <Failed error={entries.error} retry={entries.retry} />}
        {!entries.pending && entries.error == null && current.length === 0 && (
          <Empty>
            None planned.{" "}
            {editor ? "Plan a window that comes once, or one that comes again." : "An editor can plan a window here."}
          </Empty>
        )}
        {current.length > 0 && (
          <EntryTable entries={current} names={names} now={now} actions={editor ? actions : null} />
        )}
      </Card>
      <QuietCard now={now} />
      {past.length > 0 && (
        <Card
          title="Over"
          beside="windows that came once, plans that ended, corrections"
          footer="A correction was entered after the fact: it is listed apart in every report, with its reason."
        >
          <EntryTable entries={past} names={names} now={now} actions={editor ? actions : null} />
        </Card>
      )}
      <ConfirmDelete
        opened={deleting !== null}
        close={close}
        title={`Delete ${deleting?.name ?? ""}?`}
        name={deleting?.name ?? ""}
        act={remove}
      >
        {deleting?.cron
          ? "Nothing of it will come any more. What has begun stays in every report."
          : "It has not begun; nothing will be silent."}
      </ConfirmDelete>
    </Page>
  );
}

function Running({ one, names, now }: { one: Maintenance; names: Names; now: number }) {
  const end = epoch(one.end) ?? now;
  return (
    <div className="row wide state-line">
      <StateWord state="maintenance" word="Maintenance" large />
      <b>{duration(end - now)} left</b>
      <span className="muted">
        {scopeWords(one, names)}, until {hourMinute(end)} · declared {when(one.declared_at, now)} by {one.declared_by}
      </span>
    </div>
  );
}

/** What runs and comes, whole, and the last that is over. */
function useEntries() {
  const ask = (phase: "running" | "planned" | "paused" | "past", limit: number) =>
    ["get", "/api/v1/maintenance", { params: { query: { phase, limit, days: 90 } } }] as const;
  const all = [
    api.useQuery(...ask("running", 200)),
    api.useQuery(...ask("planned", 200)),
    api.useQuery(...ask("paused", 200)),
    api.useQuery(...ask("past", 20)),
  ];
  return {
    items: all.flatMap((one) => one.data?.items ?? []),
    pending: all.some((one) => one.isPending),
    error: all.find((one) => one.isError)?.error ?? null,
    retry: () => {
      for (const one of all) void one.refetch();
    },
  };
}

function useNames(): Names {
  const monitors = api.useQuery("get", "/api/v1/monitors", { params: { query: { limit: 500 } } });
  const fleets = api.useQuery("get", "/api/v1/fleets");
  const locations = api.useQuery("get", "/api/v1/locations");
  const map = (all: readonly { id: string; name: string }[] | undefined) =>
    new Map((all ?? []).map((one) => [one.id, one.name]));
  return {
    monitors: map(monitors.data?.items),
    fleets: map(fleets.data?.items),
    locations: map(locations.data?.items),
  };
}

function useActions() {
  const client = useQueryClient();
  const end = api.useMutation("post", "/api/v1/maintenance/{id}/end");
  const skip = api.useMutation("post", "/api/v1/maintenance/{id}/skip");
  const change = api.useMutation("patch", "/api/v1/maintenance/{id}");
  const remove = api.useMutation("delete", "/api/v1/maintenance/{id}");
  const [deleting, setDeleting] = useState<Maintenance | null>(null);
  const refresh = () =>
    client.invalidateQueries({ predicate: (q) => String(q.queryKey[1]).startsWith("/api/v1/maintenance") });
  const after = (say: () => void) => ({
    onSuccess: say,
    onError: tellProblem,
    onSettled: () => void refresh(),
  });
  const params = (one: Maintenance) => ({ path: { id: one.id } });
  const leave = (one: Maintenance, start: string, on: boolean, undo: boolean) =>
    skip.mutate(
      { params: params(one), body: { start, skip: on } },
      after(() => {
        const said = `${one.name}: ${on ? "left out" : "takes place"} ${when(start)}.`;
        if (undo) tellUndo(said, () => leave(one, start, !on, false));
        else tell(said);
      }),
    );
  const actions: EntryActions = {
    end: (one) =>
      end.mutate(
        { params: params(one) },
        after(() => tell(`${one.name} has ended.`)),
      ),
    skip: (one, start, on) => leave(one, start, on, true),
    pause: (one) =>
      change.mutate(
        { params: params(one), body: { paused: !one.paused } },
        after(() => tell(one.paused ? `${one.name} goes on.` : `${one.name} is paused: nothing of it begins.`)),
      ),
    remove: setDeleting,
  };
  return {
    actions,
    deleting,
    close: () => setDeleting(null),
    remove: async () => {
      if (deleting) await remove.mutateAsync({ params: params(deleting) });
      await refresh();
    },
  };
}
