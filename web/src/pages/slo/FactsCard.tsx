import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { list, millis } from "../../lib/format";
import { sliWord, windowWords } from "../../lib/slos";
import { utc, when } from "../../lib/time";
import { maintenanceWords, unknownWords } from "./TimeCard";

type Slo = Schemas["Slo"];

/** What is measured and how it is judged, so that a number can be defended. */
export function FactsCard({ slo, report, now }: { slo: Slo; report: Schemas["SloReport"]; now: number }) {
  const warnings = slo.warnings;
  return (
    <Card title="How it is measured">
      <div className="body">
        <dl className="facts">
          <dt>Indicator</dt>
          <dd>
            {sliWord(slo.sli)}
            {indicatorWords(slo)}
          </dd>
          <dt>Window</dt>
          <dd>{windowWords(slo.window)}</dd>
          <dt>Unknown time</dt>
          <dd>
            {unknownWords[slo.unknown_policy]}; below {Math.floor(slo.coverage_min * 1000 + 1e-7) / 10}&nbsp;% known
            there is no verdict
          </dd>
          <dt>Maintenance</dt>
          <dd>{maintenanceWords[slo.maintenance_policy]}</dd>
          <dt>Burn rules</dt>
          <dd>
            {slo.rules.length === 0
              ? "none"
              : `${list(slo.rules.map((rule) => rule.name))}${slo.usual_rules ? " (the usual ones)" : ""}`}
          </dd>
          <dt>Told</dt>
          <dd>
            <Told channels={slo.channels ?? null} />
          </dd>
          {slo.owner && (
            <>
              <dt>Owner</dt>
              <dd>{slo.owner}</dd>
            </>
          )}
          {Object.keys(slo.labels).length > 0 && (
            <>
              <dt>Labels</dt>
              <dd>
                {Object.entries(slo.labels)
                  .map(([name, value]) => `${name}=${value}`)
                  .join(", ")}
              </dd>
            </>
          )}
          {warnings.length > 0 && (
            <>
              <dt>Worth a look</dt>
              <dd>
                {warnings.map((warning) => (
                  <p key={`${warning.code}${warning.rule ?? ""}`}>
                    {warning.rule && <b>{warning.rule} </b>}
                    {warning.message}.
                  </p>
                ))}
              </dd>
            </>
          )}
          <dt>Definition</dt>
          <dd title={utc(slo.updated_at)}>
            revision {slo.definition_revision}, saved {when(slo.updated_at, now)}
          </dd>
          <dt>Data</dt>
          <dd>
            revision {report.data_revision ?? "–"}, kept{" "}
            {report.window.resolution === "event" ? "to the event" : "to the quarter of an hour"}, time zones{" "}
            {report.window.tzdata}
          </dd>
          <dt>Hash</dt>
          <dd>
            <code className="break">{report.sha256}</code>
          </dd>
        </dl>
      </div>
    </Card>
  );
}

function indicatorWords(slo: Slo): string {
  if (slo.sli === "latency")
    return `: at or under ${millis((slo.threshold_us ?? 0) / 1000)}, of ${slo.denominator === "all" ? "all probes" : "those that pass"}`;
  if (slo.sli === "probe_ratio")
    return slo.weight === "location_mean" ? ": the mean of the locations" : ": all locations pooled";
  if (slo.sli === "requests")
    return (
      (slo.threshold_us == null ? "" : ` within ${millis(slo.threshold_us / 1000)}`) +
      (slo.min_requests == null
        ? ""
        : `; minutes with fewer than ${slo.min_requests} are judged by ${slo.monitor?.name ?? "a monitor"}`)
    );
  if (slo.subject === "composite")
    return slo.composite === "all_down" ? ": down when all of them are down" : ": down when any of them is down";
  return "";
}

function Told({ channels }: { channels: string[] | null }) {
  const all = api.useQuery("get", "/api/v1/channels");
  if (!all.data) return null;
  const told = all.data.items.filter((c) => c.enabled && (channels ? channels.includes(c.id) : c.default));
  if (told.length === 0)
    return (
      <>
        nobody: <Link to="/alerting">{channels ? "its channels are switched off" : "there is no default channel"}</Link>
      </>
    );
  return <>{list(told.map((c) => c.name)) + (channels === null ? " (default)" : "")}</>;
}
