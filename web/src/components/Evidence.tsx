import type { Schemas } from "../api/client";
import { bytes, micros } from "../lib/format";
import { when } from "../lib/time";
import { phaseSummary } from "./PhaseBars";
import { StateMark } from "./StateMark";

/** Everything that is kept of one failure. Secrets were replaced before it left the agent. */
export function EvidenceView({ seen }: { seen: Schemas["Observation"] }) {
  const evidence = seen.evidence;
  const headers = Object.entries(evidence?.headers ?? {});
  const hops = seen.hops ?? [];
  return (
    <div className="stack evidence">
      {seen.message && <p className="strong">{seen.message}</p>}
      {(seen.assertions ?? []).length > 0 && (
        <ul className="stack tight">
          {seen.assertions?.map((a, i) => (
            <li key={i} className="row">
              <StateMark
                state={a.holds == null ? "unknown" : a.holds ? "up" : "down"}
                label={a.holds == null ? "not judged" : a.holds ? "holds" : "does not hold"}
              />
              <code>
                {a.on} {a.op} {JSON.stringify(a.value)}
              </code>
              {a.holds !== true && <span className="soft break">{a.actual}</span>}
            </li>
          ))}
        </ul>
      )}
      <dl className="facts">
        {seen.phases_us && <Fact word="Time">{phaseSummary(seen.phases_us)}</Fact>}
        {seen.status != null && (
          <Fact word="Status">{`${seen.status}${seen.http_version ? `, HTTP/${seen.http_version.replace(/^HTTP\//i, "")}` : ""}`}</Fact>
        )}
        {seen.address && <Fact word="Address">{seen.address}</Fact>}
        {(evidence?.resolved ?? []).length > 0 && <Fact word="Resolved to">{evidence?.resolved?.join(", ")}</Fact>}
        {evidence?.final_url && <Fact word="Final address">{evidence.final_url}</Fact>}
        {seen.size != null && <Fact word="Size">{bytes(seen.size)}</Fact>}
        {seen.certificate && (
          <Fact word="Certificate">
            {seen.certificate.subject}, by {seen.certificate.issuer}, ends {when(seen.certificate.not_after)} (
            {seen.certificate.days_left} days left)
          </Fact>
        )}
        {grouped(evidence?.facts ?? []).map(([label, values]) => (
          <Fact key={label} word={sentence(label)}>
            {values.map((value, i) => (
              <div key={i} className="break">
                {value}
              </div>
            ))}
          </Fact>
        ))}
        {hops.length > 0 && (
          <Fact word="Redirects">
            {hops.map((hop) => `${hop.status} ${hop.url} → ${hop.location} in ${micros(hop.duration_us)}`).join("; ")}
          </Fact>
        )}
      </dl>
      {headers.length > 0 && (
        <details>
          <summary className="small">Headers</summary>
          <pre className="raw">
            {headers.flatMap(([name, values]) => values.map((value) => `${name}: ${value}`)).join("\n")}
          </pre>
        </details>
      )}
      {evidence?.body && (
        <details open>
          <summary className="small">Body, its first {bytes(evidence.body.length)}</summary>
          <pre className="raw">{evidence.body}</pre>
        </details>
      )}
    </div>
  );
}

/** Values with the same label stand together, in the order in which the labels first came. */
function grouped(facts: Schemas["Fact"][]): [string, string[]][] {
  const groups = new Map<string, string[]>();
  for (const { label, value } of facts) groups.set(label, [...(groups.get(label) ?? []), value]);
  return [...groups];
}

function sentence(label: string): string {
  return label.charAt(0).toUpperCase() + label.slice(1);
}

function Fact({ word, children }: { word: string; children: React.ReactNode }) {
  return (
    <>
      <dt>{word}</dt>
      <dd>{children}</dd>
    </>
  );
}
