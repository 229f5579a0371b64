import { Fragment } from "react";
import { Link } from "react-router";
import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { StateWord } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { findingMark, kindWord } from "../../lib/fleets";
import { count, duration } from "../../lib/format";
import { epoch, utc, when } from "../../lib/time";
import { evidenceRows } from "./evidence";

type Finding = Schemas["FleetFinding"];

const grave = ["critical", "warning", "info"];

/** Findings with the numbers behind them, open ones first, and whether outside probes felt them. */
export function FindingsCard(props: {
  fleet: string;
  findings: readonly Finding[] | undefined;
  error: unknown;
  retry: () => void;
  now: number;
  more: (() => void) | null;
}) {
  const { fleet, findings, error, retry, now, more } = props;
  const sorted = [...(findings ?? [])].sort(
    (a, b) =>
      Number(a.to != null) - Number(b.to != null) ||
      (a.to == null ? grave.indexOf(a.severity) - grave.indexOf(b.severity) : 0) ||
      b.from.localeCompare(a.from),
  );
  return (
    <Card
      title="Findings"
      beside="a finding is evidence; a rule of the fleet makes an incident of it"
      actions={<Link to={`/incidents?fleet=${encodeURIComponent(fleet)}`}>Its incidents</Link>}
      footer={
        more && (
          <button type="button" className="link" onClick={more}>
            Show earlier ones
          </button>
        )
      }
    >
      {!findings && error ? <Failed error={error} retry={retry} /> : null}
      {!findings && !error ? <Loading rows={3} /> : null}
      {findings && sorted.length === 0 && <Empty>Nothing was found in the last days.</Empty>}
      {sorted.length > 0 && (
        <ul className="findings">
          {sorted.map((finding) => (
            <li key={finding.id}>
              <FindingItem finding={finding} now={now} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

/** One finding: kind, since when, sentence, whether it was felt outside, and the numbers. */
export function FindingItem({ finding, now, here }: { finding: Finding; now: number; here?: string }) {
  const from = epoch(finding.from) ?? now;
  const to = epoch(finding.to);
  const rows = evidenceRows(finding.evidence);
  return (
    <article className={to === null ? undefined : "soft"}>
      <p className="row wide">
        {finding.severity === "info" ? (
          <b>{kindWord(finding.kind)}</b>
        ) : (
          <StateWord state={findingMark(finding)} word={kindWord(finding.kind)} />
        )}
        {finding.severity === "info" && !finding.chronic && <span className="tag">for information</span>}
        {finding.chronic && <span className="tag">chronic</span>}
        <span className="muted" title={utc(finding.from)}>
          {when(finding.from)}, {to === null ? `for ${duration(now - from)}` : `over after ${duration(to - from)}`}
        </span>
        <span className="muted" title={utc(finding.found_at)}>
          {foundWords(finding)}
        </span>
        {finding.pool && <span className="muted">{finding.pool}</span>}
      </p>
      <p>{finding.sentence}</p>
      <p className="small soft">
        {outsideWords(finding)}{" "}
        {finding.incident && finding.incident !== here && <Link to={`/incidents/${finding.incident}`}>Incident</Link>}
      </p>
      {rows.length > 0 && (
        <details>
          <summary className="small">The numbers behind it</summary>
          <dl className="facts">
            {rows.map(([name, value]) => (
              <Fragment key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </Fragment>
            ))}
          </dl>
        </details>
      )}
    </article>
  );
}

/** How long after its beginning it was found. */
export function foundWords(finding: Pick<Finding, "from" | "found_at">): string {
  const after = (epoch(finding.found_at) ?? 0) - (epoch(finding.from) ?? 0);
  return after < 1 ? "found at once" : `found ${duration(after)} after it began`;
}

function outsideWords({ outside }: Finding): string {
  if (outside.felt == null) return "No monitor from outside was looking.";
  return outside.felt
    ? `Felt from outside: ${count(outside.fails)} of ${count(outside.runs)} probes failed in these minutes.`
    : `Not felt from outside: all ${count(outside.runs)} probes passed in these minutes.`;
}
