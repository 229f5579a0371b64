import { useState } from "react";
import { Link, useParams } from "react-router";
import { api, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Card } from "../../components/Card";
import { Page } from "../../components/Page";
import { Empty, Failed, Loading } from "../../components/Status";
import { isShared, isUnheard, readyWords } from "../../lib/fleets";
import { SLOWLY } from "../../lib/live";
import { readRange } from "../../lib/range";
import { useNow } from "../../lib/ticker";
import { hourMinute } from "../../lib/time";
import { useUrlState } from "../../lib/useUrlState";
import { deploysOf } from "./deploys";
import { Figures } from "./Figures";
import { FindingsCard } from "./FindingsCard";
import { figuresOf } from "./figures";
import { Headline } from "./Headline";
import { HourCard } from "./HourCard";
import { InstancesCard } from "./InstancesCard";
import { PlatformCard } from "./PlatformCard";
import { RemovalTable } from "./RemovalTable";
import { RoutesCard } from "./RoutesCard";
import { SourcesCard } from "./SourcesCard";
import { shareWithin, verdictOf } from "./scale";

type Fleet = Schemas["Fleet"];

/** What the table and the routes look at: long enough for numbers, short enough for now. */
const RECENT = 900;

const iso = (at: number) => new Date(at * 1000).toISOString();

/** One fleet: one instance, or something shared? */
export function FleetPage() {
  const { id = "" } = useParams();
  const fleet = api.useQuery("get", "/api/v1/fleets/{id}", { params: { path: { id } } }, { refetchInterval: SLOWLY });
  if (fleet.data) return <Known key={fleet.data.id} fleet={fleet.data} />;
  const gone = fleet.isError && problemOf(fleet.error).status === 404;
  return (
    <Page crumbs={[{ word: "Fleets", to: "/fleets" }, { word: "Fleet" }]}>
      <h1>{gone ? "There is no such fleet." : "Fleet"}</h1>
      {fleet.isPending && <Loading rows={6} />}
      {fleet.isError && !gone && <Failed error={fleet.error} retry={() => void fleet.refetch()} />}
      {gone && (
        <p className="pad-phone">
          It may have been deleted. <Link to="/fleets">All fleets</Link>
        </p>
      )}
    </Page>
  );
}

function Known({ fleet }: { fleet: Fleet }) {
  const now = useNow();
  const path = { id: fleet.id };
  const [range, setRange] = useUrlState("range", "1h");
  const { from, to } = readRange(range, now);
  const until = Math.floor(now / 60) * 60;
  const recent = { from: iso(until - RECENT), to: iso(until) };
  // The minute goes on and asks anew; until the answer comes, the last one stands.
  const often = { refetchInterval: SLOWLY, placeholderData: <T,>(before: T) => before };
  const health = api.useQuery(
    "get",
    "/api/v1/fleets/{id}/health",
    { params: { path, query: { from: iso(from), to: iso(to), step: stepFor(to - from) } } },
    often,
  );
  const instances = api.useQuery("get", "/api/v1/fleets/{id}/instances", { params: { path, query: recent } }, often);
  const routes = api.useQuery("get", "/api/v1/fleets/{id}/routes", { params: { path, query: recent } }, often);
  const [limit, setLimit] = useState(20);
  const findings = api.useQuery("get", "/api/v1/fleets/{id}/findings", { params: { path, query: { limit } } }, often);
  const removals = api.useQuery("get", "/api/v1/fleets/{id}/removals", { params: { path, query: { limit: 100 } } });
  const events = api.useQuery(
    "get",
    "/api/v1/fleets/{id}/events",
    {
      params: { path, query: { from: iso(from), to: iso(to), limit: 500 } },
    },
    often,
  );
  const open = (findings.data?.items ?? []).filter((finding) => !finding.to);
  const worst = open.find((finding) => finding.id === fleet.now.worst?.id);
  const items = instances.data?.items;
  const blamed = new Set((items ?? []).filter((i) => verdictOf(i) === "unlike").map((i) => i.instance));
  const waiting = fleet.now.state === "waiting";
  const before = shareWithin(health.data?.series ?? [], until - 3600 - 60, until - 2700);
  return (
    <Page crumbs={[{ word: "Fleets", to: "/fleets" }, { word: fleet.name }]}>
      <Headline fleet={fleet} now={now} health={health.data} />
      {waiting && <SourcesCard fleet={fleet} now={now} />}
      {!waiting && (
        <>
          {worst && !worst.chronic && <Figures figures={figuresOf(worst, items ?? [], fleet.now, RECENT)} />}
          <InstancesCard
            instances={items}
            error={instances.error}
            retry={() => void instances.refetch()}
            spanWords={`15 min to ${hourMinute(until)}`}
            readyWords={readyWords(fleet.now)}
            before={before}
            shared={open.some(isShared)}
            live={!isUnheard(fleet.now.state)}
            now={now}
          />
          <RoutesCard
            routes={routes.data?.items}
            error={routes.error}
            retry={() => void routes.refetch()}
            minutes={RECENT / 60}
            blamed={blamed}
          />
          <HourCard
            health={health.data}
            error={health.error}
            retry={() => void health.refetch()}
            range={range}
            setRange={setRange}
            from={from}
            to={to}
            marked={{
              findings: findings.data?.items ?? [],
              removals: removals.data?.items ?? [],
              deploys: deploysOf(events.data?.items ?? []),
            }}
          />
          <FindingsCard
            fleet={fleet.name}
            findings={findings.data?.items}
            error={findings.error}
            retry={() => void findings.refetch()}
            now={now}
            more={findings.data?.next && limit < 500 ? () => setLimit(Math.min(500, limit + 60)) : null}
          />
          {health.data && (
            <PlatformCard fleet={fleet} platform={health.data.platform ?? null} removals={removals.data?.items ?? []} />
          )}
          <Card title="Removed and returned" beside="every removal is a drill: how long it took, and who was hurt">
            {removals.isPending && <Loading rows={2} />}
            {removals.isError && <Failed error={removals.error} retry={() => void removals.refetch()} />}
            {removals.data?.items.length === 0 && <Empty>Nothing was ever taken out of rotation.</Empty>}
            {(removals.data?.items.length ?? 0) > 0 && <RemovalTable removals={removals.data?.items ?? []} />}
          </Card>
          <SourcesCard fleet={fleet} now={now} />
        </>
      )}
    </Page>
  );
}

/** Points of a chart: about 120, whole windows and quarters of an hour. */
export function stepFor(seconds: number): number {
  const steps = [60, 300, 900, 3600, 10_800, 21_600];
  return steps.find((step) => seconds / step <= 150) ?? 86_400;
}
