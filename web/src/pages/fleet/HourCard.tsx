import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { Failed, Loading } from "../../components/Status";
import { useTwin } from "../../components/Twin";
import { instanceStateWord } from "../../lib/fleets";
import { count, NONE, percent } from "../../lib/format";
import { ranges, rangeWord } from "../../lib/range";
import { epoch, utc, when, zoneLabel } from "../../lib/time";
import { HourDrawing, type Marked } from "./HourDrawing";
import { failedShare } from "./hour";

type Health = Schemas["FleetHealth"];

/** Ready against expected and failed attempts, as a chart or as a table. */
export function HourCard(props: {
  health: Health | undefined;
  error: unknown;
  retry: () => void;
  range: string;
  setRange: (range: string, push: boolean) => void;
  from: number;
  to: number;
  marked: Marked;
}) {
  const { health, error, retry, range, setRange, from, to, marked } = props;
  const twin = useTwin();
  return (
    <Card
      title="Ready and failures"
      beside={
        <span className="row">
          {ranges.map((one) => (
            <button
              key={one}
              type="button"
              className="button compact"
              aria-pressed={range === one}
              onClick={() => setRange(one, true)}
            >
              {rangeWord(one)}
            </button>
          ))}
          <span className="small">
            {when(from)} – {when(to)} {zoneLabel(to)}
          </span>
        </span>
      }
      actions={twin.button}
    >
      {!health && error ? <Failed error={error} retry={retry} /> : null}
      {!health && !error ? <Loading rows={4} /> : null}
      {health &&
        (twin.asTable ? (
          <HourTable health={health} marked={marked} />
        ) : (
          <HourDrawing health={health} from={from} to={to} marked={marked} />
        ))}
    </Card>
  );
}

function HourTable({ health, marked }: { health: Health; marked: Marked }) {
  const num = (word: string) => (
    <th scope="col" className="num">
      {word}
    </th>
  );
  return (
    <ScrollX label="Ready and failures as a table" maxHeight={420}>
      <table className="grid dense">
        <caption className="hidden-visually">Requests, attempts and ready count by step, the latest first</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            {num("Ready")}
            {num("Requests")}
            {num("Failed for users")}
            {num("Attempts")}
            {num("Failed")}
            {num("Saved by a retry")}
            <th scope="col">Notes</th>
          </tr>
        </thead>
        <tbody>
          {[...health.series].reverse().map((step) => (
            <tr key={step.at}>
              <td className="nowrap" title={utc(step.at)}>
                {when(step.at)}
              </td>
              <td className="num">{readyAt(health, epoch(step.at) ?? 0) ?? NONE}</td>
              <td className="num">{step.requests == null ? NONE : count(step.requests)}</td>
              <td className="num">{step.failed == null ? NONE : count(step.failed)}</td>
              <td className="num">{step.attempts == null ? NONE : count(step.attempts)}</td>
              <td className="num">{percent(failedShare(step), 1)}</td>
              <td className="num">{step.rescued == null ? NONE : count(step.rescued)}</td>
              <td>{notesOf(step, health, marked).join("; ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

/** The ready count at an instant; null when nobody says. */
function readyAt(health: Health, at: number): number | null {
  return health.ready.findLast((step) => (epoch(step.at) ?? 0) <= at)?.ready ?? null;
}

/** What the chart marks within a step. */
function notesOf(step: Health["series"][number], health: Health, marked: Marked): string[] {
  const at = epoch(step.at) ?? 0;
  const within = (then: number | null) => then !== null && then >= at && then < at + health.step_s;
  return [
    ...(step.attempts == null ? ["no data"] : []),
    ...(step.revised ? ["lines came after it was judged"] : []),
    ...health.transitions.filter((t) => within(epoch(t.at))).map((t) => `${t.instance} ${instanceStateWord(t.state)}`),
    ...marked.deploys.filter((d) => within(d.from)).map((d) => `version ${d.version} on ${d.instances.join(", ")}`),
    ...marked.findings.filter((f) => within(epoch(f.from))).map((f) => `found: ${f.sentence}`),
  ];
}
