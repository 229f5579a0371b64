import { type CallPlan, callsInWords, lanesOf, ticksOf } from "../lib/calls";
import { span } from "../lib/format";

/** Who is told when: a row for each channel along the time since the opening, and the same as a list. */
export function Calls({ plan }: { plan: CallPlan }) {
  const { lanes, end } = lanesOf(plan);
  if (lanes.length === 0) return null;
  // An instant alone would stand at both ends at once.
  const long = Math.max(end, 60);
  const x = (at: number) => `${(at / long) * 100}%`;
  const kinds = new Set(lanes.flatMap((lane) => lane.calls.map((call) => call.kind)));
  return (
    <figure className="calls">
      <div aria-hidden="true" className="lanes">
        {lanes.map((lane) => (
          <div key={lane.name} className="lane">
            <span className="name" title={lane.name}>
              {lane.name}
            </span>
            <span className="track">
              <i className="knows" style={{ left: x(lane.calls[0]?.at ?? 0) }} />
              {lane.calls.map((call) => (
                <i key={call.at} className={call.kind} style={{ left: x(call.at) }} title={title(call.at, call.kind)} />
              ))}
            </span>
          </div>
        ))}
        <div className="lane axis">
          <span className="name" />
          <span className="track">
            {ticksOf(end).map((at) => (
              <span key={at} style={{ left: x(at) }}>
                {at === 0 ? "at once" : span(at)}
              </span>
            ))}
          </span>
        </div>
      </div>
      <ol className="hidden-visually" aria-label="Who is told when">
        {callsInWords(lanes).map((words) => (
          <li key={words}>{words}</li>
        ))}
      </ol>
      <figcaption className="muted small">
        <span aria-hidden="true">
          <i className="first" /> told{" "}
          {kinds.has("again") && (
            <>
              <i className="again" /> told again{" "}
            </>
          )}
          {kinds.has("reminder") && (
            <>
              <i className="reminder" /> reminded{" "}
            </>
          )}
        </span>
        <span aria-hidden="true">– </span>while nobody acknowledges
      </figcaption>
    </figure>
  );
}

function title(at: number, kind: "first" | "again" | "reminder"): string {
  const word = { first: "told", again: "told again", reminder: "reminded" }[kind];
  return at === 0 ? `${word} at once` : `${word} after ${span(at)}`;
}
