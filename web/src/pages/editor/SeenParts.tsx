import { useState } from "react";
import type { Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { StateMark } from "../../components/StateMark";
import type { Line } from "../../lib/assertions";
import { opWords } from "../../lib/assertions";
import { type Suggestion, suggestions } from "../../lib/suggest";

type Result = Schemas["ProbeResult"];

const FIRST = 8;

/** What one location saw, beside every condition, and what of it could be a condition too. */
export function SeenParts({ results, add }: { results: Result[]; add: (line: Line) => void }) {
  const answered = results.filter((result) => result.observation);
  const [chosen, choose] = useState<string | null>(null);
  const result = answered.find((r) => r.location.id === chosen) ?? answered[0];
  const seen = result?.observation;
  if (!result || !seen) return null;
  return (
    <section className="stack seen-parts" aria-label="What was seen">
      {answered.length > 1 && (
        <label className="row small">
          As seen from{" "}
          <select value={result.location.id} onChange={(event) => choose(event.target.value)}>
            {answered.map((r) => (
              <option key={r.location.id} value={r.location.id}>
                {r.location.name}
              </option>
            ))}
          </select>
        </label>
      )}
      {(seen.assertions ?? []).length > 0 && (
        <table className="grid dense">
          <caption className="hidden-visually">Conditions and what was there</caption>
          <thead>
            <tr>
              <th scope="col">Condition</th>
              <th scope="col">Was there</th>
            </tr>
          </thead>
          <tbody>
            {seen.assertions?.map((a, i) => (
              <tr key={i}>
                <th scope="row" className="small-weight">
                  <StateMark
                    state={a.holds == null ? "unknown" : a.holds ? "up" : "down"}
                    label={a.holds == null ? "not judged" : a.holds ? "holds" : "does not hold"}
                  />{" "}
                  {a.on} {opWords[a.op] ?? a.op} {a.value == null ? "" : JSON.stringify(a.value)}
                </th>
                <td className="break mono small">{a.actual}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <Offers key={result.location.id} offers={suggestions(seen)} add={add} />
      {seen.evidence?.body && <BodyText text={seen.evidence.body} add={add} />}
    </section>
  );
}

/** Values that were seen, each with the button that makes it a condition. */
function Offers({ offers, add }: { offers: Suggestion[]; add: (line: Line) => void }) {
  const [all, setAll] = useState(false);
  if (offers.length === 0) return null;
  return (
    <div className="stack tight">
      <h3 className="small">Make what was seen a condition</h3>
      <ul>
        {(all ? offers : offers.slice(0, FIRST)).map(({ what, seen, line }) => (
          <li key={`${line.on} ${line.arg} ${line.value}`} className="row">
            <span className="break small">
              <span className="soft">{what}</span> <code>{seen}</code>
            </span>
            <Button compact aria-label={`Add a condition: ${what} ${seen}`} onClick={() => add(line)}>
              Add
            </Button>
          </li>
        ))}
      </ul>
      {offers.length > FIRST && (
        <div>
          <button type="button" className="link small" onClick={() => setAll(!all)}>
            {all ? "Show fewer" : `Show all ${offers.length}`}
          </button>
        </div>
      )}
    </div>
  );
}

/** The body as it was read. Text that is marked in it can become a condition. */
function BodyText({ text, add }: { text: string; add: (line: Line) => void }) {
  const [marked, setMarked] = useState("");
  const mark = (event: React.SyntheticEvent<HTMLTextAreaElement>) => {
    const { selectionStart, selectionEnd, value } = event.currentTarget;
    setMarked(value.slice(selectionStart, selectionEnd).trim());
  };
  return (
    <details>
      <summary className="small">Body, its beginning; mark a piece of it to look for that</summary>
      <div className="stack tight">
        <textarea className="raw" aria-label="Body" readOnly rows={8} value={text} onSelect={mark} />
        <div>
          <Button
            compact
            disabled={marked === ""}
            onClick={() => add({ on: "body", arg: "", op: "contains", value: marked })}
          >
            {marked === ""
              ? "Nothing is marked"
              : `Body contains “${marked.length > 40 ? `${marked.slice(0, 40)}…` : marked}”`}
          </Button>
        </div>
      </div>
    </details>
  );
}
