import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { StateMark } from "../../components/StateMark";
import { Refusal } from "../../components/Status";
import { span } from "../../lib/format";
import { lasting } from "../../lib/slos";
import { times } from "../slo/words";

/** What the form would come to, as one types. */
export function MeansCard({
  check,
  refused,
  asked,
}: {
  check: Schemas["SloCheck"] | null;
  refused: string | null;
  asked: boolean;
}) {
  return (
    <Card title="What it would mean">
      <div className="body stack" aria-live="polite">
        {!asked && <p className="soft">Choose what it is about, and an objective.</p>}
        {refused && <Refusal>{refused}</Refusal>}
        {check && (
          <dl className="facts">
            <dt>Budget</dt>
            <dd>
              {check.budget_ms == null ? "a share of the events" : `${lasting(check.budget_ms)} in a whole window`}
            </dd>
            <dt>Smallest outage</dt>
            <dd>
              {check.smallest_outage_ms == null
                ? "not known: no location watches it"
                : `${span(check.smallest_outage_ms / 1000)} can be told, as it is probed now`}
            </dd>
          </dl>
        )}
        {check?.warnings
          .filter((warning) => warning.code !== "resolution_refused")
          .map((warning) => (
            <p key={`${warning.code}${warning.rule ?? ""}`} className="row nowrap-start">
              <StateMark state="degraded" />
              <span>
                {warning.rule && <b>{warning.rule} </b>}
                {sentenceOf(warning)}
              </span>
            </p>
          ))}
      </div>
      {check && check.rules.length > 0 && <Rules rules={check.rules} />}
    </Card>
  );
}

function sentenceOf(warning: Schemas["SloWarning"]): string {
  const { message, rule } = warning;
  return `${rule ? message : message.charAt(0).toUpperCase() + message.slice(1)}.`;
}

function Rules({ rules }: { rules: Schemas["SloCheck"]["rules"] }) {
  return (
    <table className="grid dense lookbacks">
      <caption className="hidden-visually">Burn rules that would be in force</caption>
      <thead>
        <tr>
          <th scope="col">Rule</th>
          <th scope="col">Spans</th>
          <th scope="col" className="num">
            Burns
          </th>
        </tr>
      </thead>
      <tbody>
        {rules.map((rule) => (
          <tr key={rule.name}>
            <th scope="row">
              {rule.name} <span className="muted small-weight">{rule.severity}</span>
            </th>
            <td className="nowrap">
              {days(rule.long_s)} and {days(rule.short_s)}
            </td>
            <td className="num">{rule.cannot_fire ? "never fires" : `${times(rule.factor)} ×`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Whole days as days. */
const days = (seconds: number) =>
  seconds >= 86_400 && seconds % 86_400 === 0 ? `${seconds / 86_400}\u00a0d` : span(seconds);
