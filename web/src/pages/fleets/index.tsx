import { Modal } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { Page } from "../../components/Page";
import { Empty, Failed, Loading } from "../../components/Status";
import { StateWord } from "../../components/StateMark";
import { duration, NONE, percent, plural } from "../../lib/format";
import { useNow } from "../../lib/ticker";
import { epoch, when } from "../../lib/time";
import { useUrlState } from "../../lib/useUrlState";
import { FleetForm } from "./FleetForm";
import { InstanceMarks } from "./Marks";
import { ReadyLine } from "./ReadyLine";
import { RecentRemovals } from "./RecentRemovals";
import { behindWords, fleetMark, fleetsSentence, fleetWord, readyWords, worstFirst } from "./words";

type Fleet = Schemas["Fleet"];

const DAY = 86_400;

/** Fleets: which instance, or that it is none of them. Findings first. */
export function FleetsPage() {
  const role = useRole();
  const client = useQueryClient();
  const navigate = useNavigate();
  const fleets = api.useQuery("get", "/api/v1/fleets", undefined, { refetchInterval: 10_000 });
  const [adding, setAdding] = useUrlState("add");
  const items = worstFirst(fleets.data?.items ?? []);
  const trouble = items.filter((fleet) => fleet.now.state !== "ok");
  const calm = items.filter((fleet) => fleet.now.state === "ok");
  const instances = items.reduce((sum, f) => sum + (f.now.ready ?? f.now.in_rotation ?? 0), 0);
  return (
    <Page crumbs={[{ word: "Fleets" }]}>
      <div className="headline">
        <div>
          <h1>{fleets.data ? fleetsSentence(items) : "Fleets"}</h1>
          {items.length > 0 && (
            <p className="lead">
              {plural(items.length, "fleet")}, {plural(instances, "instance")} ready or in rotation. An instance is
              named only when its peers, on the same routes, do not fail as it does.
            </p>
          )}
        </div>
        {role("editor") && (
          <div className="actions">
            <Button primary onClick={() => setAdding("1", true)}>
              Add a fleet
            </Button>
          </div>
        )}
      </div>
      <Card
        title="Fleets"
        beside={items.length > 0 && "findings first"}
        footer={items.length > 0 && "A log source that is silent is never read as health."}
      >
        {fleets.isPending && <Loading rows={3} height={56} />}
        {fleets.isError && <Failed error={fleets.error} retry={() => void fleets.refetch()} />}
        {fleets.data && items.length === 0 && (
          <Empty>
            A fleet is the set of instances behind a balancer. Its access logs tell which instance fails while every
            check passes.{" "}
            {role("editor") ? "Add one, then send it logs with one command." : "An editor can add one here."}
          </Empty>
        )}
        {items.length > 0 && <FleetTable trouble={trouble} calm={calm} />}
      </Card>
      {items.length > 0 && <RecentRemovals fleets={items} />}
      <Modal opened={adding !== "" && role("editor")} onClose={() => setAdding("")} title="Add a fleet" size={720}>
        <FleetForm
          done={(saved) => {
            void client
              .invalidateQueries({ queryKey: api.queryOptions("get", "/api/v1/fleets").queryKey })
              .then(() => navigate(`/fleets/${saved.id}`));
          }}
        />
      </Modal>
    </Page>
  );
}

function FleetTable({ trouble, calm }: { trouble: readonly Fleet[]; calm: readonly Fleet[] }) {
  const now = useNow();
  return (
    <div className="scroll-x">
      <table className="grid folds">
        <caption className="hidden-visually">Fleets, those with findings first</caption>
        <thead>
          <tr>
            <th scope="col">Finding</th>
            <th scope="col">Fleet</th>
            <th scope="col">In words</th>
            <th scope="col">Instances now</th>
            <th scope="col">Ready, 24 h</th>
            <th scope="col" className="num">
              Failed, 15 min
            </th>
            <th scope="col" className="num">
              Out after
              <br />
              <span className="muted">slowest, at least</span>
            </th>
            <th scope="col">Logs</th>
          </tr>
        </thead>
        <tbody>
          {trouble.map((fleet) => (
            <Row key={fleet.id} fleet={fleet} now={now} />
          ))}
          {trouble.length > 0 && calm.length > 0 && (
            <tr className="group">
              <th colSpan={8} scope="rowgroup">
                Nothing found <span className="muted">{calm.length}</span>
              </th>
            </tr>
          )}
          {calm.map((fleet) => (
            <Row key={fleet.id} fleet={fleet} now={now} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Whole minutes, so that the question asked of the server is the same for a while. */
const whole = (at: number) => Math.floor(at / 60) * 60;
const iso = (at: number) => new Date(at * 1000).toISOString();

function Row({ fleet, now }: { fleet: Fleet; now: number }) {
  const to = whole(now);
  const health = api.useQuery("get", "/api/v1/fleets/{id}/health", {
    params: { path: { id: fleet.id }, query: { from: iso(to - DAY), to: iso(to), step: 900 } },
  });
  const removals = api.useQuery("get", "/api/v1/fleets/{id}/removals", {
    params: { path: { id: fleet.id }, query: { from: iso(whole(to - 30 * DAY)), limit: 200 } },
  });
  const mark = fleetMark(fleet);
  const { worst } = fleet.now;
  const quiet = fleet.now.state === "ok";
  const last = [...(health.data?.series ?? [])].reverse().find((step) => step.attempts != null && step.attempts > 0);
  const failed = last?.attempts ? (last.errors ?? 0) / last.attempts : null;
  const slowest = (removals.data?.items ?? []).reduce<Schemas["Removal"] | null>(
    (most, one) => ((one.ttr_ms ?? -1) > (most?.ttr_ms ?? -1) ? one : most),
    null,
  );
  const known = fleet.now.ready ?? fleet.now.in_rotation ?? 0;
  const of = Math.max(known, fleet.now.expected ?? 0);
  const bad = worst && worst.instances.length > 0 ? worst.instances.length : mark === "partial" ? of : of - known;
  return (
    <tr className={quiet ? undefined : `edged edge-${mark}`}>
      <td>
        {quiet ? <span className="soft">{fleetWord(fleet)}</span> : <StateWord state={mark} word={fleetWord(fleet)} />}
      </td>
      <th scope="row">
        <Link to={`/fleets/${fleet.id}`}>{fleet.name}</Link>
        {health.data?.platform?.name && <div className="muted small">{health.data.platform.name}</div>}
      </th>
      <td className="second wrap">{worst?.sentence ?? (quiet ? "" : explain(fleet, now))}</td>
      <td>
        <InstanceMarks
          of={of}
          bad={Math.max(0, bad)}
          mark={
            fleet.now.state === "no_data"
              ? "unknown"
              : mark === "partial"
                ? "partial"
                : mark === "slow"
                  ? "slow"
                  : "down"
          }
        />
        <div className="muted small">{readyWords(fleet.now)}</div>
      </td>
      <td className="off">
        {health.data && (
          <ReadyLine
            steps={health.data.ready}
            from={to - DAY}
            to={to}
            expected={fleet.now.expected}
            floor={fleet.now.min_ready}
          />
        )}
      </td>
      <td className={`num${failed !== null && failed > 0.01 ? " strong" : ""}`}>{percent(failed, 1)}</td>
      <td className="num off">
        {slowest?.ttr_ms != null ? duration(slowest.ttr_ms / 1000) : NONE}
        {slowest?.minimum_ms != null && <div className="muted small">{duration(slowest.minimum_ms / 1000)}</div>}
      </td>
      <td className={fleet.now.live_sources === 0 && fleet.now.sources > 0 ? "strong" : "soft"}>
        {behindWords(fleet.now, now)}
      </td>
    </tr>
  );
}

function explain(fleet: Fleet, now: number): string {
  if (fleet.now.state === "waiting") return "No line has arrived yet. Its page has the command that sends them.";
  const received = epoch(fleet.now.received_at);
  if (fleet.now.state === "no_data" && received !== null)
    return `It has sent nothing since ${when(received, now)}. What was known then is not taken for now.`;
  return "";
}
