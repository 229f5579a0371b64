import { useState } from "react";
import { Link } from "react-router";
import type { Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { StateMark, StateWord } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { instanceStateWord, kindWord, largest, sourceWord } from "../../lib/fleets";
import { count, millis, NONE, percent, plural } from "../../lib/format";
import { epoch, utc } from "../../lib/time";
import { IntervalBar } from "./IntervalBar";
import { axisEnd, blamedFirst, peersBand, verdictOf } from "./scale";
import { twinWords } from "./twins";

type Instance = Schemas["FleetInstance"];

/** More than this many are folded behind the blamed ones. */
const SHOWN = 30;

/** What all rows are drawn with. */
interface Frame {
  /** End of the axis of shares. */
  end: number;
  /** The fleet's share of failures before; null when it is not known. */
  before: number | null;
  /** Everybody is hit alike: nobody is judged. */
  shared: boolean;
  /** Logs come: what is said of instances is said of now. */
  live: boolean;
  now: number;
  /** Columns that only some logs can fill. */
  checks: boolean;
  versions: boolean;
}

/** Every instance beside its peers: an interval, not a naked number. */
export function InstancesCard(props: {
  instances: readonly Instance[] | undefined;
  error: unknown;
  retry: () => void;
  spanWords: string;
  readyWords: string;
  before: number | null;
  shared: boolean;
  live: boolean;
  now: number;
}) {
  const { instances, error, retry, spanWords, readyWords, before, shared, live, now } = props;
  const role = useRole();
  const [all, setAll] = useState(false);
  const twins = twinWords(instances ?? []);
  const sorted = blamedFirst(instances ?? []);
  const blamed = sorted.filter((i) => i.findings.length > 0).length;
  const shown = all ? sorted : sorted.slice(0, Math.max(SHOWN, blamed));
  const frame: Frame = {
    end: axisEnd(sorted, before),
    before,
    shared,
    live,
    now,
    checks: sorted.some((i) => i.probes_passed + i.probes_failed > 0),
    versions: sorted.some((i) => i.version != null),
  };
  return (
    <Card
      title="Instances"
      beside={`${spanWords} · ${readyWords}`}
      footer={
        sorted.length > 0 && (
          <div className="row small">
            {sorted.length > shown.length && (
              <button type="button" className="link" onClick={() => setAll(true)}>
                Show {plural(sorted.length - shown.length, "more instance")}
              </button>
            )}
            {sorted.some((i) => i.attempts > 0) && <Legend before={before !== null} />}
            {!frame.versions && <span>No version is reported.</span>}
            {twins && (
              <span>
                {twins}{" "}
                {role("editor") && (
                  <>
                    Write one behind the other in <Link to="?edit=1">Fleet settings</Link>, under “Instances by name”.
                  </>
                )}
              </span>
            )}
          </div>
        )
      }
    >
      {!instances && error ? <Failed error={error} retry={retry} /> : null}
      {!instances && !error ? <Loading rows={5} /> : null}
      {instances && sorted.length === 0 && <Empty>No instance was seen in this span.</Empty>}
      {sorted.length > 0 && (
        <ScrollX label="Instances">
          <table className="grid folds instances">
            <caption className="hidden-visually">Instances, the blamed ones first</caption>
            <Head frame={frame} />
            <tbody>
              {shown.map((instance) => (
                <Row key={instance.instance} instance={instance} frame={frame} />
              ))}
            </tbody>
          </table>
        </ScrollX>
      )}
    </Card>
  );
}

function Head({ frame }: { frame: Frame }) {
  const num = (word: string) => (
    <th scope="col" className="num">
      {word}
    </th>
  );
  return (
    <thead>
      <tr>
        <th scope="col">Instance</th>
        <th scope="col">Verdict</th>
        {num("Failed")}
        <th scope="col">Against its peers, 0 – {percent(frame.end, 0)}</th>
        {num("Attempts")}
        {num("p90, p50")}
        {num("Traffic")}
        <th scope="col">State, by whom</th>
        {frame.checks && num("Own check")}
        {num("Restarts")}
        {num("Flaps")}
        {frame.versions && <th scope="col">Version</th>}
      </tr>
    </thead>
  );
}

function Legend({ before }: { before: boolean }) {
  return (
    <>
      <span className="row tight">
        <svg width="26" height="12" aria-hidden="true">
          <rect width="26" height="12" fill="var(--text3)" opacity="0.32" />
        </svg>
        where its peers put it
      </span>
      {before && (
        <span className="row tight">
          <svg width="4" height="12" aria-hidden="true">
            <path d="M2 0v12" stroke="var(--up)" strokeWidth="2" />
          </svg>
          the fleet before
        </span>
      )}
      <span className="row tight">
        <svg width="30" height="12" aria-hidden="true">
          <path d="M2 6h26M2 2v8M28 2v8" stroke="var(--text)" strokeWidth="1.5" />
          <circle cx="13" cy="6" r="3.5" fill="var(--text)" />
        </svg>
        its own share, with its 99 % interval
      </span>
    </>
  );
}

function Verdict({ instance, frame }: { instance: Instance; frame: Frame }) {
  const first = instance.findings.find((f) => !f.chronic) ?? instance.findings[0];
  switch (verdictOf(instance, frame.shared)) {
    case "unlike":
      return <StateWord state="down" word="unlike its peers" />;
    case "trouble":
      return <StateWord state="slow" word={first ? kindWord(first.kind).toLowerCase() : "trouble"} />;
    case "chronic":
      return (
        <span className="soft">
          unlike its peers <span className="tag">chronic</span>
        </span>
      );
    case "held":
      return <span className="soft">held: shared cause</span>;
    case "unknown":
      return frame.live ? <span className="soft">no traffic</span> : <StateWord state="unknown" word="not known" />;
    default:
      return <span className="soft">like its peers</span>;
  }
}

function Row({ instance, frame }: { instance: Instance; frame: Frame }) {
  const verdict = verdictOf(instance, frame.shared);
  const blamed = verdict === "unlike";
  const probes = instance.probes_passed + instance.probes_failed;
  const restarts = [
    instance.restarts_certain > 0 ? `${count(instance.restarts_certain)} certain` : "",
    instance.restarts_probable > 0 ? `${count(instance.restarts_probable)} probable` : "",
  ].filter(Boolean);
  return (
    <tr className={blamed ? "edged edge-down" : verdict === "trouble" ? "edged edge-slow" : undefined}>
      <th scope="row" className="name">
        {instance.instance}
        {instance.aliases[0] && (
          <div className="muted small small-weight" title={instance.aliases.join(", ")}>
            {instance.aliases[0]}
          </div>
        )}
      </th>
      <td className="end">
        <Verdict instance={instance} frame={frame} />
      </td>
      <td className={`num third${blamed ? " strong" : ""}`}>
        {percent(instance.error_share, 1)}
        <span className="phone-only"> failed of</span>
      </td>
      <td className="second">
        <IntervalBar
          share={instance.error_share ?? null}
          low={instance.error_low ?? null}
          high={instance.error_high ?? null}
          band={peersBand(instance)}
          before={frame.before}
          end={frame.end}
          blamed={blamed}
        />
      </td>
      <td className="num third">
        {count(instance.attempts)}
        <span className="phone-only"> attempts</span>
      </td>
      <td className="num third">
        <span className="phone-only">· p90 </span>
        {millis(instance.p90_ms)}
        <div className="muted small wide-screen">{millis(instance.p50_ms)}</div>
      </td>
      <td className="num off">{percent(instance.share, 1)}</td>
      <td className="fourth" title={instance.state_since ? utc(instance.state_since) : undefined}>
        <State instance={instance} frame={frame} />
      </td>
      {frame.checks && (
        <td className="num off">{probes === 0 ? NONE : `${count(instance.probes_passed)} of ${count(probes)}`}</td>
      )}
      <td className="num off">{restarts.length === 0 ? "0" : restarts.map((text) => <div key={text}>{text}</div>)}</td>
      <td className="num off">{count(instance.span_transitions)}</td>
      {frame.versions && <td className="off soft">{instance.version ?? NONE}</td>}
    </tr>
  );
}

/** The state, since when and who says so. Of a fleet whose logs are silent it is the last known one. */
function State({ instance, frame }: { instance: Instance; frame: Frame }) {
  const since = epoch(instance.state_since);
  // Traffic alone tells that it is used, which is less than ready.
  const used = inRotation(instance);
  const word = instanceStateWord(used ? "in_rotation" : instance.state);
  const by = [
    since === null ? "" : `for ${largest(frame.now - since)}`,
    instance.state_source ? sourceWord(instance.state_source) : used ? sourceWord("traffic") : "",
    instance.state === "unknown" && since !== null ? "who told is silent" : "",
  ].filter(Boolean);
  return (
    <>
      <span className="state">
        <StateMark state={frame.live ? (used ? "up" : stateMark(instance.state)) : "unknown"} size={10} />
        {frame.live || instance.state === "unknown" ? word : `was ${word}`}
      </span>
      <div className="muted small by">{by.join(", ")}</div>
      {instance.state_reason && <div className="muted small">{instance.state_reason}</div>}
    </>
  );
}

function inRotation({ state, state_source: source, attempts }: Instance): boolean {
  // What was stored before this state had a name of its own reads `ready`, by traffic.
  return (
    state === "in_rotation" || (state === "ready" && source === "traffic") || (state === "unknown" && attempts > 0)
  );
}

function stateMark(state: string): string {
  const marks: Record<string, string> = {
    ready: "up",
    unready: "down",
    draining: "maintenance",
    maintenance: "maintenance",
    starting: "pending",
    gone: "paused",
  };
  return marks[state] ?? "unknown";
}
