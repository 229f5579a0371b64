import { useState } from "react";
import { useParams } from "react-router";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { Page } from "../../components/Page";
import { StateWord } from "../../components/StateMark";
import { Failed, Loading } from "../../components/Status";
import { Tags } from "../../components/Tags";
import { duration } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { nextRange, rangeFor, readRange, writeRange } from "../../lib/range";
import { tellProblem } from "../../lib/tell";
import { useNow } from "../../lib/ticker";
import { epoch, utc, when } from "../../lib/time";
import { useUrlState } from "../../lib/useUrlState";
import { ProbeTable, useProbe } from "../editor/TryCard";
import { Actions } from "./Actions";
import { JobCallsCard } from "./JobCallsCard";
import { isHeartbeat } from "./job";
import { FactsCard } from "./FactsCard";
import { AddressCard, HeartbeatCard } from "./HeartbeatCard";
import { IncidentsCard } from "./IncidentsCard";
import { LatencyCard } from "./LatencyCard";
import { PhasesCard } from "./PhasesCard";
import { ResultsCard } from "./ResultsCard";
import { latestByLocation } from "./results";
import { TimelineCard } from "./TimelineCard";
import { VotesCard } from "./VotesCard";
import { Warnings } from "./Warnings";
import { holdWords } from "./votes";

const iso = (seconds: number) => new Date(seconds * 1000).toISOString();

/** A monitor: why this verdict? */
export function MonitorPage() {
  const id = useParams().id ?? "";
  const path = { id };
  const monitor = api.useQuery("get", "/api/v1/monitors/{id}", { params: { path } });
  const report = api.useQuery("get", "/api/v1/monitors/{id}/state", { params: { path } });
  const name = monitor.data?.name ?? "…";
  const group = monitor.data?.group;
  const crumbs = [
    { word: "Monitors", to: "/monitors" },
    ...(group ? [{ word: group, to: `/monitors?q=${encodeURIComponent(`group:"${group}"`)}` }] : []),
    { word: name },
  ];
  if (monitor.isError && !monitor.data)
    return (
      <Page crumbs={crumbs}>
        <Failed error={monitor.error} retry={() => void monitor.refetch()} />
      </Page>
    );
  return (
    <Page crumbs={crumbs}>
      {!monitor.data || (!report.data && !report.isError) ? (
        <Loading rows={10} />
      ) : (
        <Monitor
          monitor={monitor.data}
          report={report.data ?? null}
          reportError={report.error}
          retry={() => void report.refetch()}
        />
      )}
    </Page>
  );
}

function Monitor({
  monitor,
  report,
  reportError,
  retry,
}: {
  monitor: Schemas["Monitor"];
  report: Schemas["StateReport"] | null;
  reportError: unknown;
  retry: () => void;
}) {
  const now = useNow();
  const id = monitor.id;
  const path = { id };
  // A new monitor would be a sliver at the edge of a day; what fits is chosen once, on arrival.
  const [fitting] = useState(() => rangeFor(now - (epoch(monitor.created_at) ?? 0)));
  const [range, setRange] = useUrlState("range", fitting);
  const { from, to } = readRange(range, now);
  const span = { from: iso(from), to: iso(to) };
  const zoom = (a: number, b: number) => setRange(writeRange(a, b), true);
  const keep = { placeholderData: <T,>(before: T) => before };
  const timeline = api.useQuery("get", "/api/v1/monitors/{id}/timeline", { params: { path, query: span } }, keep);
  const series = api.useQuery("get", "/api/v1/monitors/{id}/series", { params: { path, query: span } }, keep);
  const decisions = api.useQuery(
    "get",
    "/api/v1/monitors/{id}/decisions",
    { params: { path, query: { ...span, limit: 200 } } },
    keep,
  );
  const recent = api.useQuery("get", "/api/v1/monitors/{id}/observations", { params: { path, query: { limit: 60 } } });
  const open = api.useQuery("get", "/api/v1/incidents", {
    params: { query: { monitor: id, kind: "monitor", state: "open", limit: 1 } },
  });
  const run = api.useMutation("post", "/api/v1/monitors/{id}/run");
  const [hidden, setHidden] = useState(false);
  const batch = useProbe(run.data ?? null);
  const probe = () => {
    setHidden(false);
    run.mutate({ params: { path, query: { wait_s: 0 } } }, { onError: tellProblem });
  };
  useKeys({ "[": () => setRange(nextRange(range, -1), true), "]": () => setRange(nextRange(range, 1), true) });
  const incident = open.data?.items[0] ?? null;
  const job = isHeartbeat(monitor);
  return (
    <>
      <div className="headline">
        <div>
          <StateLine monitor={monitor} report={report} incident={incident} now={now} />
          <h1>{report?.explanation ?? monitor.name}</h1>
          {report && holdWords(report.hold, now) && <p className="lead">{holdWords(report.hold, now)}</p>}
        </div>
        <Actions
          monitor={monitor}
          incident={incident}
          probe={probe}
          probing={run.isPending || (batch !== null && !batch.done)}
        />
      </div>
      <Warnings of={monitor} />
      {batch && !hidden && (
        <Card
          title="Probed by hand"
          beside="kept as manual results; they never vote"
          actions={
            <Button compact onClick={() => setHidden(true)}>
              Close
            </Button>
          }
        >
          <ProbeTable batch={batch} limit_ms={monitor.slow_ms} now={now} />
        </Card>
      )}
      {report?.heartbeat ? (
        <HeartbeatCard beat={report.heartbeat} now={now} />
      ) : report ? (
        <VotesCard report={report} now={now} revision={monitor.revision} />
      ) : (
        <Failed error={reportError} retry={retry} />
      )}
      {job && <AddressCard monitor={monitor} open={report?.heartbeat?.last_call == null} />}
      <TimelineCard
        range={range}
        setRange={setRange}
        from={from}
        to={to}
        zoom={zoom}
        timeline={timeline.data}
        error={timeline.error}
        retry={() => void timeline.refetch()}
        series={series.data}
        decisions={decisions.data?.items ?? []}
      />
      {job ? (
        <FactsCard monitor={monitor} now={now} />
      ) : (
        <>
          <LatencyCard
            series={series.data}
            error={series.error}
            retry={() => void series.refetch()}
            from={from}
            to={to}
            zoom={zoom}
          />
          <div className="two lean-left">
            <PhasesCard latest={latestByLocation(recent.data?.items ?? [])} />
            <FactsCard monitor={monitor} now={now} />
          </div>
        </>
      )}
      <IncidentsCard id={id} name={monitor.name} now={now} />
      {job ? <JobCallsCard id={id} /> : <ResultsCard id={id} locations={monitor.looks_from.map((l) => l.name)} />}
    </>
  );
}

/** State, for how long, and what has been done about it. */
function StateLine({
  monitor,
  report,
  incident,
  now,
}: {
  monitor: Schemas["Monitor"];
  report: Schemas["StateReport"] | null;
  incident: Schemas["IncidentRow"] | null;
  now: number;
}) {
  const state = report?.state ?? monitor.state;
  const since = report?.since ?? monitor.since;
  const start = incident ? incident.started_at : since;
  const words = [
    `since ${when(start, now)}`,
    incident && `incident opened ${when(incident.opened_at, now)}`,
    incident &&
      (incident.acked_at
        ? `acknowledged by ${incident.acked_by}`
        : incident.suppressed
          ? "nobody is told"
          : "no answer yet"),
    report?.maintenance && `in maintenance “${report.maintenance.name}” until ${when(report.maintenance.end, now)}`,
  ].filter(Boolean);
  return (
    <div className="row wide state-line">
      <StateWord state={state} large />
      {report && (
        <Tags
          low={report.low}
          stale={report.evidence_stale}
          flapping={report.flapping}
          doubt={report.locations_in_doubt}
        />
      )}
      <b className="big-duration">{duration(now - (epoch(start) ?? now))}</b>
      <span className="muted" title={utc(start)}>
        {monitor.name} · {words.join(" · ")}
      </span>
    </div>
  );
}
