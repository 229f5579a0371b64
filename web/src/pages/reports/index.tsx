import { Menu } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button, ButtonLink } from "../../components/Button";
import { Card } from "../../components/Card";
import { ConfirmDelete } from "../../components/Confirm";
import { Page } from "../../components/Page";
import { Empty, Failed, Loading } from "../../components/Status";
import { plural } from "../../lib/format";
import { tell, tellProblem } from "../../lib/tell";
import { useNow } from "../../lib/ticker";
import { tellUndo } from "../../lib/undo";
import { MadeCard } from "./MadeCard";
import { NowCard } from "./NowCard";
import { ScheduleTable } from "./ScheduleTable";
import { dueWords, recipients, reportsSentence } from "./words";

type Schedule = Schemas["ReportSchedule"];

/** Reports: a number that can be defended, made by itself and sent. */
export function ReportsPage() {
  const role = useRole();
  const now = useNow();
  const schedules = api.useQuery("get", "/api/v1/reports/schedules");
  const channels = api.useQuery("get", "/api/v1/channels");
  const [deleting, setDeleting] = useState<Schedule | null>(null);
  const items = schedules.data?.items ?? [];
  const editor = role("editor");
  const change = useChanges();
  const first = items
    .flatMap((one) => one.upcoming.slice(0, 1).map((at) => ({ at, words: dueWords(one, at, now) })))
    .sort((a, b) => a.at.localeCompare(b.at))[0];
  return (
    <Page crumbs={[{ word: "Reports" }]}>
      <div className="headline">
        <div>
          <h1>{schedules.data ? reportsSentence(items, now) : "Reports"}</h1>
          <p className="lead">
            A report is made from the stored timeline that alerts and status pages read too. Anybody can work its
            figures out again from the JSON, without this server.
          </p>
        </div>
        {editor && (
          <div className="actions">
            <ButtonLink primary to="/reports/schedules/new">
              Add a schedule
            </ButtonLink>
          </div>
        )}
      </div>
      <Card title="Schedules" beside={items.length > 0 && plural(items.length, "schedule")}>
        {schedules.isPending && <Loading rows={2} height={56} />}
        {schedules.isError && <Failed error={schedules.error} retry={() => void schedules.refetch()} />}
        {schedules.data && items.length === 0 && <NoneYet editor={editor} />}
        {items.length > 0 && (
          <ScheduleTable
            schedules={items}
            recipients={new Map((channels.data?.items ?? []).map((one) => [one.id, recipients(one)]))}
            actions={(one) => editor && <Actions schedule={one} change={change} remove={() => setDeleting(one)} />}
          />
        )}
      </Card>
      <MadeCard next={first?.words ?? null} />
      <NowCard />
      <ConfirmDelete
        opened={deleting !== null}
        close={() => setDeleting(null)}
        title="Delete a schedule"
        name={deleting?.name ?? ""}
        act={async () => {
          if (deleting) await change.remove(deleting);
        }}
      >
        Nothing is made or sent by it any more. What it made stays readable.
      </ConfirmDelete>
    </Page>
  );
}

function NoneYet({ editor }: { editor: boolean }) {
  return (
    <Empty>
      A schedule makes the reports of some SLOs and sends them: every month to a customer, every Monday to the team.{" "}
      {editor ? (
        <>
          <Link to="/reports/schedules/new">Add one</Link>; it needs a <Link to="/alerting">channel</Link> to send
          through, and an <Link to="/slos">SLO</Link>.
        </>
      ) : (
        "An editor can add one here."
      )}
    </Empty>
  );
}

type Changes = ReturnType<typeof useChanges>;

/** What can be done with a schedule, and the list asked for again afterwards. */
function useChanges() {
  const client = useQueryClient();
  const path = "/api/v1/reports/schedules/{id}" as const;
  const patch = api.useMutation("patch", path);
  const remove = api.useMutation("delete", path);
  const send = api.useMutation("post", "/api/v1/reports/schedules/{id}/send");
  const refresh = () =>
    client.invalidateQueries({ predicate: (query) => String(query.queryKey[1]).startsWith("/api/v1/reports") });
  const of = (one: Schedule) => ({ path: { id: one.id } });
  const turn = (one: Schedule, enabled: boolean, onSuccess: () => void) =>
    patch.mutate(
      { params: of(one), body: { enabled } },
      { onSuccess, onError: tellProblem, onSettled: () => void refresh() },
    );
  return {
    sending: send.isPending ? send.variables.params.path.id : null,
    pause: (one: Schedule) =>
      turn(one, false, () => tellUndo(`${one.name} is switched off.`, () => turn(one, true, () => {}))),
    resume: (one: Schedule) => turn(one, true, () => tell(`${one.name} sends again.`)),
    send: (one: Schedule) =>
      send.mutate(
        { params: of(one) },
        {
          onSuccess: () => {
            tell(
              `${plural(one.slos.length, "report")} of ${one.name} ${one.slos.length === 1 ? "is" : "are"} being made.`,
            );
            // It is made within seconds, by whichever coordinator comes first.
            for (const ms of [2_000, 5_000, 10_000]) setTimeout(() => void refresh(), ms);
          },
          onError: tellProblem,
        },
      ),
    remove: async (one: Schedule) => {
      await remove.mutateAsync({ params: { ...of(one), header: { "if-match": `"${one.revision}"` } } });
      tell(`${one.name} is deleted.`);
      await refresh();
    },
  };
}

function Actions({ schedule, change, remove }: { schedule: Schedule; change: Changes; remove: () => void }) {
  return (
    <span className="actions">
      <Button compact busy={change.sending === schedule.id} onClick={() => change.send(schedule)}>
        Send now
      </Button>
      <Menu position="bottom-end">
        <Menu.Target>
          <button type="button" className="button compact" aria-label={`Change ${schedule.name}`}>
            …
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item component={Link} to={`/reports/schedules/${schedule.id}`}>
            Edit
          </Menu.Item>
          {schedule.enabled ? (
            <Menu.Item onClick={() => change.pause(schedule)}>Pause</Menu.Item>
          ) : (
            <Menu.Item onClick={() => change.resume(schedule)}>Resume</Menu.Item>
          )}
          <Menu.Divider />
          <Menu.Item onClick={remove}>Delete…</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </span>
  );
}
