import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { Empty } from "../../components/Status";
import { plural } from "../../lib/format";
import { FindingItem } from "../fleet/FindingsCard";

/** What the logs of the fleet behind it say of the same minutes: one server, or something shared? */
export function FleetCard({ incident, now }: { incident: Schemas["Incident"]; now: number }) {
  const id = incident.monitor?.id ?? "";
  const monitor = api.useQuery("get", "/api/v1/monitors/{id}", { params: { path: { id } } }, { enabled: id !== "" });
  const fleets = api.useQuery("get", "/api/v1/fleets");
  const fleet = incident.fleet?.id ?? monitor.data?.fleet ?? null;
  const name = incident.fleet?.name ?? fleets.data?.items.find((one) => one.id === fleet)?.name;
  const findings = incident.fleet_findings;
  if (!incident.fleet && !monitor.data) return null;
  // Without any fleet there is nothing to choose, and nothing to say.
  if (fleet === null && (fleets.data?.items.length ?? 0) === 0) return null;
  return (
    <Card
      title="Found in the fleet"
      beside={fleet ? `${plural(findings.length, "finding")} of the same minutes` : undefined}
      actions={fleet && name && <Link to={`/fleets/${fleet}`}>{name}</Link>}
    >
      {fleet === null ? (
        <Empty>
          This monitor names no fleet, so nothing is known of the instances behind it.{" "}
          <Link to={`/monitors/${id}/edit`}>Name one</Link>
        </Empty>
      ) : findings.length === 0 ? (
        <Empty>Its logs show nothing unusual in these minutes.</Empty>
      ) : (
        <ul className="findings">
          {findings.map((finding) => (
            <li key={finding.id}>
              <FindingItem finding={finding} now={now} here={incident.id} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
