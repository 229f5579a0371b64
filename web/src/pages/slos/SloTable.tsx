import { Link } from "react-router";
import type { Schemas } from "../../api/client";
import { BudgetBar } from "../../components/BudgetBar";
import { ScrollX } from "../../components/ScrollX";
import { StateWord } from "../../components/StateMark";
import { aboutOf, pct, sliWord, sloMark, sloWord, windowWords } from "../../lib/slos";

type Slo = Schemas["Slo"];

/** SLOs as rows; on a phone each is two lines. */
export function SloTable(props: { items: readonly Slo[]; here: string | null; narrow: (service: string) => void }) {
  return (
    <ScrollX label="SLOs">
      <table className="grid folds slos">
        <caption className="hidden-visually">SLOs, the least budget left first</caption>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">SLO</th>
            <th scope="col">Service</th>
            <th scope="col">Of what</th>
            <th scope="col" className="num">
              Objective
            </th>
            <th scope="col" className="num">
              Achieved
            </th>
            <th scope="col">Budget left</th>
            <th scope="col">Window</th>
          </tr>
        </thead>
        <tbody>
          {props.items.map((slo) => (
            <Row key={slo.id} slo={slo} here={props.here === slo.id} narrow={props.narrow} />
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

function Row({ slo, here, narrow }: { slo: Slo; here: boolean; narrow: (service: string) => void }) {
  const state = slo.now?.state;
  const mark = sloMark(state);
  const calm = mark === "up" || mark === "pending";
  const about = aboutOf(slo).map((one) => one.word);
  return (
    <tr data-row={slo.id} className={`${calm ? "" : `edged edge-${mark}`}${here ? " here" : ""}`}>
      <td>
        <StateWord state={mark} word={sloWord(state)} />
      </td>
      <th scope="row" className="slo-name">
        <Link to={`/slos/${slo.id}`}>{slo.name}</Link>
      </th>
      <td className="off">
        {slo.service && (
          <button type="button" className="link" onClick={() => narrow(slo.service)}>
            {slo.service}
          </button>
        )}
      </td>
      <td className="off soft">
        {sliWord(slo.sli)}:{" "}
        {about.length > 2 ? `${about.slice(0, 2).join(", ")} and ${about.length - 2} more` : about.join(" and ")}
      </td>
      <td className="num off">{pct(slo.target_pct)}</td>
      <td className="num end strong">
        {pct(slo.now?.pct)}
        <span className="phone-only small-weight muted"> of {pct(slo.target_pct)}</span>
      </td>
      <td className="second">
        <BudgetBar
          state={state}
          ratio={slo.now?.remaining_ratio}
          left={slo.now?.budget_left}
          unit={slo.now?.unit ?? "ms"}
        />
      </td>
      <td className="off soft nowrap">{windowWords(slo.window, false)}</td>
    </tr>
  );
}
