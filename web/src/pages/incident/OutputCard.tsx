import { api, type Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { utc, when } from "../../lib/time";
import { callWord } from "../monitor/job";
import { type EvidenceOf, isOfJob } from "./evidence";

/** What a job printed that says that it failed; absent for what is probed, and where nothing was sent. */
export function OutputCard({
  incident,
  evidence,
  now,
}: {
  incident: Schemas["Incident"];
  evidence: EvidenceOf;
  now: number;
}) {
  const monitor = incident.monitor?.id;
  const job = isOfJob(evidence);
  const query = { kind: "fail" as const, from: incident.started_at, to: incident.ended_at ?? undefined, limit: 20 };
  const calls = api.useQuery(
    "get",
    "/api/v1/monitors/{id}/heartbeats",
    { params: { path: { id: monitor ?? "" }, query } },
    { enabled: job && monitor !== undefined },
  );
  const rows = (calls.data?.items ?? []).filter((call) => call.evidence).reverse();
  const [first, ...others] = rows;
  if (!first) return null;
  return (
    <Card title="What the job printed" beside="the first 4 KiB, without what looks like a secret">
      <div className="body stack">
        <Output call={first} now={now} />
        {others.length > 0 && (
          <details>
            <summary>Later calls</summary>
            <div className="stack">
              {others.map((call) => (
                <Output key={call.at} call={call} now={now} />
              ))}
            </div>
          </details>
        )}
      </div>
    </Card>
  );
}

function Output({ call, now }: { call: Schemas["Heartbeat"]; now: number }) {
  return (
    <div className="stack tight">
      <span className="small soft" title={utc(call.at)}>
        {callWord(call)} {when(call.at, now)}, from {call.source}
      </span>
      <pre className="raw">{call.evidence}</pre>
    </div>
  );
}
