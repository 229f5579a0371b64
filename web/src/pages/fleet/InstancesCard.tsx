import { useState } from "react";
import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { Empty, Failed, Loading } from "../../components/Status";
import { StateMark, StateWord } from "../../components/StateMark";
import { count, duration, millis, NONE, percent, plural } from "../../lib/format";
import { epoch, utc } from "../../lib/time";
import { kindWord, sourceWord } from "../fleets/words";
import { IntervalBar } from "./IntervalBar";
import { axisEnd, blamedFirst, verdictOf } from "./scale";

type Instance = Schemas["FleetInstance"];

/** More than this many are folded behind the blamed ones. */
const SHOWN = 30;

/** Every instance beside its peers: an interval, not a naked number. */
export function InstancesCard(props: {
  instances: readonly Instance[] | undefined;
  error: unknown;
  retry: () => void;
  spanWords: string;
  readyWords: string;
  now: number;
}) {
  const { instances, error, retry, spanWords, readyWords, now } = props;
  const [all, setAll] = useState(false);
  const sorted = blamedFirst(instances ?? []);
  const blamed = sorted.filter((i) => i.findings.length > 0).length;
  const shown = all ? sorted : sorted.slice(0, Math.max(SHOWN, blamed));
  const end = axisEnd(sorted);
  return (
    <Card
      title="Instances"
      beside={`${spanWords} · ${readyWords}`}
      footer={
        sorted.length > shown.length ? (
          <button type="button" className="link" onClick={() => setAll(true)}>
            Show {plural(sorted.length - shown.length, "more instance")}
          </button>
        ) : (
          <span className="row small">
            <Legend />
          </span>
        )
      }
    >
      {!instances && error ? <Failed error={error} retry={retry} /> : null}
      {!instances && !error ? <Loading rows={5} /> : null}
      {instances && sorted.length === 0 && <Empty>No instance was seen in this span.</Empty>}
      {sorted.length > 0 && (
        <div className="scroll-x">
          <table className="grid folds">
            <caption className="hidden-visually">Instances, the blamed ones first</caption>
            <thead>
              <tr>
                <th scope="col">Verdict</th>
                <th scope="col">Instance</th>
                <th scope="col" className="num">
                  Failed
                </th>
                <th scope="col">Against its peers, 0 – {percent(end, 0)}</th>
                <th scope="col" className="num">
                  Attempts
                </th>
                <th scope="col" className="num">
                  p50
                </th>
                <th scope="col" className="num">
                  p90
                </th>
                <th scope="col" className="num">
                  Traffic
                </th>
                <th scope="col">State</th>
                <th scope="col" className="num">
                  Own check
                </th>
                <th scope="col" className="num">
                  Restarts
                </th>
                <th scope="col" className="num">
                  Flaps
                </th>
                <th scope="col">Version</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((instance) => (
                <Row key={instance.instance} instance={instance} end={end} now={now} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

function Legend() {
  return (
    <>
      <svg width="26" height="12" aria-hidden="true">
        <rect width="26" height="12" fill="var(--text3)" opacity="0.3" />
      </svg>
      <span>where its peers put it</span>
      <svg width="30" height="12" aria-hidden="true">
        <path d="M2 6h26M2 2v8M28 2v8" stroke="var(--text)" strokeWidth="1.5" />
        <circle cx="13" cy="6" r="3.5" fill="var(--text)" />
      </svg>
      <span>its own share with its 99 % interval</span>
    </>
  );
}

const verdicts = {
  unlike: { word: "unlike its peers", mark: "down" },
  trouble: { word: "", mark: "slow" },
  like: { word: "like its peers", mark: "up" },
  unknown: { word: "no traffic", mark: "unknown" },
} as const;

function Row({ instance, end, now }: { instance: Instance; end: number; now: number }) {
  const verdict = verdictOf(instance);
  const { word, mark } = verdicts[verdict];
  const first = instance.findings[0];
  const since = epoch(instance.state_since);
  const probes = instance.probes_passed + instance.probes_failed;
  const restarts = instance.restarts_certain + instance.restarts_probable;
  return (
    <tr className={verdict === "unlike" ? "edged edge-down" : undefined}>
      <td>
        {verdict === "like" ? (
          <span className="soft">{word}</span>
        ) : (
          <StateWord state={mark} word={verdict === "trouble" && first ? kindWord(first.kind).toLowerCase() : word} />
        )}
        {instance.findings.some((f) => f.chronic) && <span className="tag">chronic</span>}
      </td>
      <th scope="row">
        {instance.instance}
        {instance.aliases.length > 0 && (
          <div className="muted small mono">{instance.aliases.slice(0, 2).join(", ")}</div>
        )}
      </th>
      <td className={`num${verdict === "unlike" ? " strong" : ""}`}>{percent(instance.error_share, 1)}</td>
      <td className="second">
        <IntervalBar
          share={instance.error_share ?? null}
          low={instance.error_low ?? null}
          high={instance.error_high ?? null}
          peers={instance.peers_share ?? null}
          end={end}
          blamed={verdict === "unlike"}
        />
      </td>
      <td className="num">{count(instance.attempts)}</td>
      <td className="num off">{millis(instance.p50_ms)}</td>
      <td className="num off">{millis(instance.p90_ms)}</td>
      <td className="num off">{percent(instance.share, 1)}</td>
      <td title={instance.state_since ? utc(instance.state_since) : undefined}>
        <span className="row">
          <StateMark state={stateMark(instance.state)} size={10} />
          {instance.state}
        </span>
        <div className="muted small">
          {since === null ? "" : `${duration(now - since)}, `}
          {sourceWord(instance.state_source)}
          {instance.state_reason ? `: ${instance.state_reason}` : ""}
        </div>
      </td>
      <td className="num off">{probes === 0 ? NONE : `${count(instance.probes_passed)} of ${count(probes)}`}</td>
      <td className="num off">
        {restarts === 0
          ? "0"
          : [
              instance.restarts_certain > 0 ? `${count(instance.restarts_certain)} certain` : "",
              instance.restarts_probable > 0 ? `${count(instance.restarts_probable)} probable` : "",
            ]
              .filter(Boolean)
              .join(", ")}
      </td>
      <td className="num off">{count(instance.span_transitions)}</td>
      <td className="off soft">{instance.version ?? NONE}</td>
    </tr>
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
