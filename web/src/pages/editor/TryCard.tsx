import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { http, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { PhaseBar, PhaseLegend, phaseAxis } from "../../components/PhaseBars";
import { ScrollX } from "../../components/ScrollX";
import { StateWord } from "../../components/StateMark";
import { Empty, Failed } from "../../components/Status";
import { type Line, opWords } from "../../lib/assertions";
import { duration, list, micros, millis } from "../../lib/format";
import { useNow } from "../../lib/ticker";
import { epoch } from "../../lib/time";
import { SeenParts } from "./SeenParts";

type Batch = Schemas["ProbeBatch"];
type Result = Schemas["ProbeResult"];

/** The answers of a run or a try, asked for again until all are in. */
export function useProbe(first: Batch | null): Batch | null {
  const probe = useQuery({
    queryKey: ["probe", first?.id],
    enabled: first !== null && !first.done,
    refetchInterval: (query) => (query.state.data?.done ? false : 400),
    staleTime: 0,
    queryFn: async () =>
      (await http.GET("/api/v1/probes/{id}", { params: { path: { id: first?.id ?? "" }, query: { wait_s: 1 } } }))
        .data ?? null,
  });
  return first?.done ? first : (probe.data ?? first);
}

/** One probe from each location: result, phases on a common axis, conditions, address. */
export function ProbeTable({ batch, limit_ms, now }: { batch: Batch; limit_ms?: number | null; now: number }) {
  const probes = batch.results.flatMap((r) =>
    r.observation ? [{ total: r.observation.phases_us?.total ?? 0, gaveUp: gaveUp(r.observation) }] : [],
  );
  const max = phaseAxis(probes, (limit_ms ?? 0) * 1000);
  return (
    <ScrollX label="One probe from each location">
      <table className="grid folds">
        <caption className="hidden-visually">One probe from each location</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">Result</th>
            <th scope="col">
              0 – {micros(max)}
              {limit_ms ? ", limit dashed" : ""}
            </th>
            <th scope="col" className="num">
              Total
            </th>
            <th scope="col">Answer, conditions</th>
            <th scope="col">Address</th>
          </tr>
        </thead>
        <tbody>
          {batch.results.map((result) => (
            <ProbeRow
              key={result.location.id}
              result={result}
              max={max}
              limit={limit_ms ? limit_ms * 1000 : null}
              waited={now - (epoch(batch.requested_at) ?? now)}
            />
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

const gaveUp = (seen: Schemas["Observation"]) => /timeout/.test(seen.class ?? "");

function ProbeRow({
  result,
  max,
  limit,
  waited,
}: {
  result: Result;
  max: number;
  limit: number | null;
  waited: number;
}) {
  const seen = result.observation;
  return (
    <tr>
      <th scope="row">
        {result.location.name} {result.location.simulated && <span className="tag">simulated</span>}
      </th>
      <td>
        {seen ? (
          <StateWord state={seen.outcome} />
        ) : result.status === "waiting" ? (
          <StateWord state="pending" word={`Waiting ${duration(Math.max(0, waited))}`} />
        ) : (
          <StateWord state="unknown" word={result.status === "offline" ? "Offline" : "No answer"} />
        )}
      </td>
      <td className="phase-cell second">
        {seen && <PhaseBar phases={seen.phases_us ?? { total: 0 }} max={max} limit={limit} gaveUp={gaveUp(seen)} />}
      </td>
      <td className="num end">{seen ? micros(seen.phases_us?.total) : ""}</td>
      <td className="second break">
        {seen ? <Answer seen={seen} /> : result.status === "offline" ? "no agent of this location is online" : ""}
      </td>
      <td className="mono soft off">{seen?.address ?? ""}</td>
    </tr>
  );
}

const literal = (value: unknown) => (Array.isArray(value) ? value.join(", ") : JSON.stringify(value));

function Answer({ seen }: { seen: Schemas["Observation"] }): ReactNode {
  const assertions = seen.assertions ?? [];
  const broken = assertions.filter((a) => a.holds === false);
  const status = seen.status ? String(seen.status) : "";
  if (broken.length > 0)
    return (
      <span className="strong" style={{ color: "var(--down-word)" }}>
        {broken.map((a) => `${a.on} ${opWords[a.op] ?? a.op} ${literal(a.value)}: ${a.actual}`).join("; ")}
      </span>
    );
  if (seen.outcome !== "pass") return [status, seen.message].filter(Boolean).join(": ");
  return [status, assertions.length > 0 ? `${assertions.length}\u00a0of\u00a0${assertions.length} hold` : ""]
    .filter(Boolean)
    .join(", ");
}

/** "Try now": the check as it stands in the form, from all its locations; never stored, never votes. */
export function TryCard(props: {
  batch: Batch | null;
  error: unknown;
  busy: boolean;
  ready: boolean;
  run: () => void;
  limit_ms: number | null;
  add: (line: Line) => void;
}) {
  const now = useNow();
  const batch = props.batch;
  const answered = batch?.results.filter((r) => r.status === "answered").length ?? 0;
  return (
    <Card
      title="Try now"
      beside={
        batch
          ? `${answered} of ${batch.results.length} answered · unsaved, never votes, not stored`
          : "from every location, before it is saved"
      }
      actions={
        <Button
          compact
          primary={!batch}
          busy={props.busy || (batch !== null && !batch.done)}
          disabled={!props.ready}
          onClick={props.run}
        >
          {batch ? "Try again" : "Try now"}
        </Button>
      }
      footer={batch && <PhaseLegend />}
    >
      {props.error ? <Failed error={props.error} /> : null}
      {batch ? (
        <>
          <ProbeTable batch={batch} limit_ms={props.limit_ms} now={now} />
          <SeenParts results={batch.results} add={props.add} />
        </>
      ) : (
        !props.error && <Empty>Every location asks once, and its answer appears here with its phases.</Empty>
      )}
    </Card>
  );
}

/** What the answers say about a latency condition, with the way out; null when there is nothing to say. */
export function latencyRemark(batch: Batch | null): { text: string; allow: number } | null {
  const slow = (batch?.results ?? []).flatMap((r) => {
    const broken = r.observation?.assertions?.find((a) => a.on === "latency_ms" && a.holds === false);
    const took = (r.observation?.phases_us?.total ?? 0) / 1000;
    return broken && took > 0 ? [{ name: r.location.name, took }] : [];
  });
  if (slow.length === 0) return null;
  const worst = Math.max(...slow.map((s) => s.took));
  const allow = Math.ceil((worst * 1.3) / 100) * 100;
  return {
    text: `${list(slow.map((s) => s.name))} ${slow.length === 1 ? "needs" : "need"} ${millis(worst)}, so this condition fails there every time.`,
    allow,
  };
}
