import { Modal } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { Page } from "../../components/Page";
import { ScrollX } from "../../components/ScrollX";
import { StateWord } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import {
  behindWords,
  fleetMark,
  fleetsSentence,
  fleetWord,
  isUnheard,
  marksOf,
  readyWords,
  worstFirst,
} from "../../lib/fleets";
import { duration, NONE, percent, plural } from "../../lib/format";
import { SLOWLY } from "../../lib/live";
import { useNow } from "../../lib/ticker";
import { epoch, when } from "../../lib/time";
import { useUrlState } from "../../lib/useUrlState";
import { shareWithin } from "../fleet/scale";
import { FleetForm } from "./FleetForm";
import { InstanceMarks } from "./Marks";
import { ReadyLine } from "./ReadyLine";
import { RecentRemovals } from "./RecentRemovals";

type Fleet = Schemas["Fleet"];

const DAY = 86_400;
const RECENT = 900;

/** Fleets: which instance, or that it is none of them. Findings first. */
export function FleetsPage() {
  const role = useRole();
  const client = useQueryClient();
  const navigate = useNavigate();
  const fleets = api.useQuery("get", "/api/v1/fleets", undefined, { refetchInterval: SLOWLY });
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
        footer={
          items.length > 0 &&
          "“Out after” is the slowest removal of 30 days beside the least that the check allows. A log source that is silent is never read as health."
        }
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
    <ScrollX label="Fleets">
      <table className="grid folds fleets">
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
            <tr className="section">
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
    </ScrollX>
  );
}

/** Whole minutes, so that the question asked of the server is the same for a while. */
const whole = (at: number) => Math.floor(at / 60) * 60;
const iso = (at: number) => new Date(at * 1000).toISOString();

function Row({ fleet, now }: { fleet: Fleet; now: number }) {
  const to = whole(now);
  const params = (query: { from: string; to: string; step: number }) => ({ params: { path: { id: fleet.id }, query } });
  // The minute goes on and asks anew; until the answer comes, the last one stands.
  const keep = { placeholderData: <T,>(before: T) => before };
  const health = api.useQuery(
    "get",
    "/api/v1/fleets/{id}/health",
    params({ from: iso(to - DAY), to: iso(to), step: 900 }),
    keep,
  );
  const recent = api.useQuery(
    "get",
    "/api/v1/fleets/{id}/health",
    params({ from: iso(to - RECENT), to: iso(to), step: 60 }),
    keep,
  );
  const removals = api.useQuery(
    "get",
    "/api/v1/fleets/{id}/removals",
    { params: { path: { id: fleet.id }, query: { from: iso(whole(to - 30 * DAY)), limit: 200 } } },
    keep,
  );
  const mark = fleetMark(fleet);
  const quiet = fleet.now.state === "ok";
  const known = !isUnheard(fleet.now.state) && recent.data !== undefined;
  const failed = known ? shareWithin(recent.data?.series ?? [], to - RECENT, to) : null;
  const slowest = (removals.data?.items ?? []).reduce<Schemas["Removal"] | null>(
    (most, one) => ((one.ttr_ms ?? -1) > (most?.ttr_ms ?? -1) ? one : most),
    null,
  );
  return (
    <tr className={quiet ? undefined : `edged edge-${mark}`}>
      <td>
        {quiet ? <span className="soft">{fleetWord(fleet)}</span> : <StateWord state={mark} word={fleetWord(fleet)} />}
      </td>
      <th scope="row" className="fleet-name">
        <Link to={`/fleets/${fleet.id}`}>{fleet.name}</Link>
        {health.data?.platform?.name && (
          <div className="muted small small-weight wide-screen">{health.data.platform.name}</div>
        )}
      </th>
      <td className="second in-words">{inWords(fleet, now)}</td>
      <td className="third">
        <InstanceMarks {...marksOf(fleet)} />
        <div className="muted small">{readyWords(fleet.now)}</div>
      </td>
      <td className="off">
        {health.data && fleet.now.state !== "waiting" && (
          <ReadyLine
            steps={health.data.ready}
            from={to - DAY}
            to={to}
            expected={fleet.now.expected}
            floor={fleet.now.min_ready}
          />
        )}
      </td>
      <td className={`num end${failed !== null && failed > 0.01 ? " strong" : ""}`}>
        {recent.isPending ? "" : percent(failed, 1)}
        {failed !== null && <span className="phone-only"> failed</span>}
      </td>
      <td className="num off">
        {slowest?.ttr_ms != null ? duration(slowest.ttr_ms / 1000) : removals.isPending ? "" : NONE}
        {slowest?.minimum_ms != null && <div className="muted small">{duration(slowest.minimum_ms / 1000)}</div>}
      </td>
      <td className={`third logs ${fleet.now.live_sources === 0 && fleet.now.sources > 0 ? "strong" : "soft"}`}>
        <span className="phone-only">Logs: </span>
        {behindWords(fleet.now, now)}
      </td>
    </tr>
  );
}

/** What is found, or that nothing is and what is chronic. */
function inWords(fleet: Fleet, now: number): string {
  const { state, worst } = fleet.now;
  if (state === "waiting") return "No line has arrived yet. Its page has the command that sends them.";
  const newest = epoch(fleet.now.newest_at);
  if (state === "no_source") return "Whoever sent its logs was deleted. What was known then is not taken for now.";
  if (state === "behind" && newest !== null)
    return `What arrives is old: its newest line is of ${when(newest, now)}. How it is now is not known yet.`;
  if (state === "no_data" && newest !== null)
    return `Its newest line is of ${when(newest, now)}. What was known then is not taken for now.`;
  if (worst) return worst.sentence;
  const traffic = fleet.now.ready == null && fleet.now.in_rotation != null;
  return traffic ? "Known from traffic alone: in rotation, which is less than ready." : "";
}
