import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { Calls } from "../../components/Calls";
import { Card } from "../../components/Card";
import { callPlan, withChannels } from "../../lib/calls";
import { cronWords } from "../../lib/cron";
import { leftWords } from "../../lib/certificates";
import { type CheckFacts, conditionWords, lookWords, showsCertificate } from "../../lib/checks";
import { fleetWord } from "../../lib/fleets";
import { duration, list, millis, NONE, odds, plural, span } from "../../lib/format";
import { epoch, utc, when } from "../../lib/time";
import { isHeartbeat } from "./job";
import { SlosOf } from "./SlosOf";
import { WarningWords } from "./Warnings";

type Availability = Schemas["Availability"];

const DAY = 86_400;

/** What is set, what to expect of it, and how available it was. */
export function FactsCard({ monitor, now }: { monitor: Schemas["Monitor"]; now: number }) {
  const odd = api.useQuery(
    "get",
    "/api/v1/monitors/{id}/odds",
    { params: { path: { id: monitor.id } } },
    { refetchInterval: 300_000, staleTime: 60_000, enabled: !isHeartbeat(monitor) },
  );
  const check = monitor.check as CheckFacts;
  const policy = monitor.policy_in_force;
  const changed = Object.keys(monitor.policy).some(
    (key) => key !== "preset" && monitor.policy[key as keyof typeof monitor.policy] != null,
  );
  return (
    <Card title="Facts">
      <div className="body">
        <dl className="facts">
          <dt>Available</dt>
          <dd>
            <Availabilities id={monitor.id} now={now} />
          </dd>
          {isHeartbeat(monitor) && <JobFacts check={monitor.check as JobCheck} />}
          {!isHeartbeat(monitor) && (
            <>
              <dt>Check</dt>
              <dd>
                {lookWords(check)}, every {span(monitor.interval_s)}, giving up after {span(monitor.timeout_s)}
                {monitor.slow_ms ? `, slow above ${millis(monitor.slow_ms)}` : ""}
                {check.tls?.verify === false ? ", certificate not verified" : ""}
              </dd>
              <Certificates id={monitor.id} now={now} expected={showsCertificate(check)} />
              <dt>Well when</dt>
              <dd>{conditionWords(check)}</dd>
            </>
          )}
          {monitor.warnings.length > 0 && (
            <>
              <dt>Worth a look</dt>
              <dd>
                <WarningWords of={monitor} />
              </dd>
            </>
          )}
          {!isHeartbeat(monitor) && (
            <>
              <dt>Policy</dt>
              <dd>
                {monitor.policy.preset ?? "balanced"}
                {changed ? ", changed" : ""}: {policy.quorum}, {plural(policy.fail_after, "failure")} in a row,{" "}
                {plural(policy.pass_after, "pass", "passes")} to recover
              </dd>
            </>
          )}
          {odd.data && (
            <>
              <dt>Expect</dt>
              <dd>
                a full outage is seen within {duration(odd.data.detection_worst_s)}, its end told within{" "}
                {duration(odd.data.recovery_worst_s)}; a false alert about {odds(odd.data.false_alerts_per_month)}
              </dd>
            </>
          )}
          <dt>Told</dt>
          <dd>
            <Told monitor={monitor} />
          </dd>
          <dt>SLOs</dt>
          <dd>
            <SlosOf id={monitor.id} />
          </dd>
          {monitor.fleet && (
            <>
              <dt>Fleet behind it</dt>
              <dd>
                <FleetBehind id={monitor.fleet} />
              </dd>
            </>
          )}
          {Object.keys(monitor.labels).length > 0 && (
            <>
              <dt>Labels</dt>
              <dd>
                {Object.entries(monitor.labels)
                  .map(([k, v]) => `${k}=${v}`)
                  .join(", ")}
              </dd>
            </>
          )}
          {monitor.runbook_url && (
            <>
              <dt>Runbook</dt>
              <dd>
                <a href={monitor.runbook_url} rel="noreferrer">
                  {monitor.runbook_url}
                </a>
              </dd>
            </>
          )}
          <dt>Watched since</dt>
          <dd title={utc(monitor.created_at)}>{when(monitor.created_at, now)}</dd>
        </dl>
      </div>
    </Card>
  );
}

interface JobCheck {
  period_s?: number;
  cron?: string;
  zone?: string;
  grace_s?: number;
  max_run_s?: number;
}

/** When the job has to call. */
function JobFacts({ check }: { check: JobCheck }) {
  const cron = check.cron ?? "";
  return (
    <>
      <dt>Calls</dt>
      <dd>
        {cron ? (
          <>
            {cronWords(cron) ?? <code>{cron}</code>}, {check.zone ?? "UTC"}
          </>
        ) : (
          `every ${span(check.period_s ?? 0)}`
        )}
        , at most {span(check.grace_s ?? 300)} late
      </dd>
      {check.max_run_s && (
        <>
          <dt>Runs</dt>
          <dd>at most {span(check.max_run_s)}</dd>
        </>
      )}
    </>
  );
}

/** The fleet by name, and what is found in it. */
function FleetBehind({ id }: { id: string }) {
  const fleets = api.useQuery("get", "/api/v1/fleets");
  const fleet = fleets.data?.items.find((one) => one.id === id);
  if (!fleet) return fleets.data ? "one that was deleted" : NONE;
  const loud = fleet.now.state === "critical" || fleet.now.state === "warning";
  return (
    <>
      <Link to={`/fleets/${id}`}>{fleet.name}</Link>:{" "}
      {loud && fleet.now.worst ? fleet.now.worst.sentence : fleetWord(fleet)}
    </>
  );
}

/** Days left of the certificate that ends first, and whether all locations were shown the same; absent where none is. */
function Certificates({ id, now, expected }: { id: string; now: number; expected: boolean }) {
  const answer = api.useQuery(
    "get",
    "/api/v1/monitors/{id}/certificates",
    { params: { path: { id } } },
    { refetchInterval: 60_000 },
  );
  const seen = answer.data?.items ?? [];
  const first = [...seen].sort((a, b) => endOf(a) - endOf(b))[0];
  if (!first && !expected) return null;
  return (
    <>
      <dt>Certificate</dt>
      <dd>
        {first ? <FirstToEnd id={id} now={now} first={first} seen={seen} /> : answer.data ? "none seen yet" : NONE}
      </dd>
    </>
  );
}

const endOf = (s: Schemas["SeenCertificate"]) => epoch(s.certificate.not_after) ?? Number.POSITIVE_INFINITY;

function FirstToEnd(props: {
  id: string;
  now: number;
  first: Schemas["SeenCertificate"];
  seen: readonly Schemas["SeenCertificate"][];
}) {
  const { id, now, first, seen } = props;
  const same = seen.filter((s) => s.certificate.fingerprint === first.certificate.fingerprint).length;
  const end = first.certificate.not_after;
  const left = Math.floor((endOf(first) - now) / DAY);
  return (
    <span title={`${utc(end)}, by ${first.certificate.issuer}`}>
      {leftWords(left)}
      {left < 0 ? "" : " left"}, until {when(end, now)}
      {same === seen.length
        ? `, the same in ${same} of ${seen.length}`
        : `, in ${same} of ${seen.length} locations; others were shown another`}
      {first.certificate.valid ? "" : "; not valid"} <Link to={`/certificates?monitor=${id}`}>all</Link>
    </span>
  );
}

/** Who is told, and by whose word: its own, a route's, or the default channels by name. */
function Told({ monitor }: { monitor: Schemas["Monitor"] }) {
  const all = api.useQuery("get", "/api/v1/channels");
  const { by, sentence, channels } = monitor.told_by;
  const flat = !monitor.told_by.escalation;
  const told =
    all.data?.items.filter((c) => c.enabled && (channels ? channels.some((one) => one.id === c.id) : c.default)) ?? [];
  if (all.data && flat && told.length === 0)
    return (
      <>
        nobody: <Link to="/alerting">{channels ? "its channels are switched off" : "there is no default channel"}</Link>
      </>
    );
  if (by === "default") return <>{list(told.map((c) => c.name))} (default)</>;
  return (
    <>
      {by === "route" ? <Link to="/alerting">{sentence}</Link> : sentence}
      {monitor.told_by.escalation && <Escalated by={monitor.told_by} channels={all.data?.items ?? []} />}
    </>
  );
}

/** The steps of the escalation, with the channels that are told at once beside it. */
function Escalated({ by, channels }: { by: Schemas["ToldBy"]; channels: readonly Schemas["Channel"][] }) {
  const answer = api.useQuery("get", "/api/v1/escalations");
  const one = answer.data?.items.find((e) => e.id === by.escalation?.id);
  if (!one || channels.length === 0) return null;
  const plan = callPlan(one, new Map(channels.map((c) => [c.id, c.name])));
  return <Calls plan={withChannels(plan, by.channels?.map((c) => c.name) ?? [])} />;
}

/** The percentage with the reach that unknown time leaves, over the last day, week and month. */
function Availabilities({ id, now }: { id: string; now: number }) {
  const to = Math.ceil(now / 60) * 60;
  return (
    <span className="row wide">
      {[1, 7, 30].map((days) => (
        <Span key={days} id={id} days={days} to={to} />
      ))}
    </span>
  );
}

function Span({ id, days, to }: { id: string; days: number; to: number }) {
  const query = { from: new Date((to - days * DAY) * 1000).toISOString(), to: new Date(to * 1000).toISOString() };
  const answer = api.useQuery(
    "get",
    "/api/v1/monitors/{id}/availability",
    { params: { path: { id }, query } },
    { placeholderData: (before) => before },
  );
  return (
    <span className="nowrap" title={answer.data && availabilityDetail(answer.data)}>
      <b>{answer.data ? availabilityWords(answer.data) : NONE}</b>{" "}
      <span className="muted">{days === 1 ? "24\u00a0h" : `${days}\u00a0d`}</span>
    </span>
  );
}

/** `99.944 %`, or `99.9 % ± 0.1` when a part is not known. Floored, as the server gives it. */
export function availabilityWords(a: Availability): string {
  if (a.percent == null) return NONE;
  const low = Number(a.percent_low ?? a.percent);
  const high = Number(a.percent_high ?? a.percent);
  const reach = (high - low) / 2;
  if (reach < 0.0005) return `${a.percent}\u00a0%`;
  const decimals = reach >= 0.05 ? 1 : 3;
  const step = 10 ** decimals;
  return `${(Math.floor(((low + high) / 2) * step + 1e-7) / step).toFixed(decimals)}\u00a0%\u00a0±\u00a0${(Math.ceil(reach * step - 1e-7) / step).toFixed(decimals)}`;
}

function availabilityDetail(a: Availability): string {
  const parts = [
    ["up", a.up_ms + a.degraded_ms],
    ["partial", a.partial_ms],
    ["down", a.down_ms],
    ["unknown", a.unknown_ms],
    ["maintenance", a.maintenance_ms],
    ["paused", a.paused_ms],
  ] as const;
  return `${list(parts.filter(([, ms]) => ms > 0).map(([word, ms]) => `${word} ${duration(ms / 1000)}`))}; ${plural(a.outages, "outage")} since ${when(epoch(a.from))}`;
}
