import { Link } from "react-router";
import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { list, plural } from "../../lib/format";
import { utc, when } from "../../lib/time";

type Incident = Schemas["Incident"];

const waits: Record<string, string> = {
  acknowledged: "Somebody is at it, so nobody else is called.",
  maintenance: "Maintenance: nobody is called until it is over.",
  flapping: "It comes and goes: nobody is called until it is steady.",
};

/** Who is called next, and when; nothing once it is over. */
export function NextCard({ incident, now }: { incident: Incident; now: number }) {
  const plan = incident.escalation;
  if (!plan || incident.resolved_at) return null;
  const by = plan.route ? ` by route ${plan.route}` : "";
  return (
    <Card
      title="Called next"
      beside={plan.policy ? `${plan.policy}${by}` : by.trim() || undefined}
      footer={plan.reminders > 0 && `${plural(plan.reminders, "reminder")} until now.`}
    >
      <p className="body">
        {plan.waits && `${waits[plan.waits] ?? plan.waits} `}
        {plan.next ? (
          <>
            Step {plan.next.step} of {plan.steps}
            {plan.rounds > 1 && `, round ${plan.next.round} of ${plan.rounds}`}:{" "}
            <b>{list(plan.next.channels) || "nobody"}</b>{" "}
            <span title={utc(plan.next.at)}>{when(plan.next.at, now)}</span>
            {plan.waits === "acknowledged" && ", unless it is over by then"}.
          </>
        ) : plan.policy ? (
          "All steps are gone through; those who were told are reminded."
        ) : (
          <>
            Nobody: no escalation is set. <Link to="/alerting">Set one</Link>
          </>
        )}
      </p>
    </Card>
  );
}
