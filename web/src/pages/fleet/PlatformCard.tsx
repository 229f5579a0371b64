import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { count, duration, NONE } from "../../lib/format";

type Facts = Schemas["PlatformFacts"];

/** What the balancer or platform does by itself, and how soon. */
export function PlatformCard({ fleet, platform }: { fleet: Schemas["Fleet"]; platform: Facts | null }) {
  if (!platform) return null;
  const ready = fleet.now.ready ?? fleet.now.in_rotation ?? null;
  const { minimum_s: least, worst_s: worst, return_s: back } = platform;
  return (
    <Card title="What the platform does" beside={platform.name ?? "no platform is set"}>
      <dl className="facts body">
        <dt>If all are unhealthy</dt>
        <dd>
          {platform.all_unhealthy
            ? `It ${platform.all_unhealthy.replace(/^It /, "").replace(/\.$/, "")}.`
            : "Not known: choose the platform in the settings of the fleet."}
        </dd>
        <dt>Failing open now</dt>
        <dd>{failOpenWords(platform, ready)}</dd>
        <dt>A bad one is out</dt>
        <dd>
          {least == null
            ? `${NONE} its check is not set`
            : `after ${duration(least)} at least, ${duration(worst)} if it hangs just after a check`}
        </dd>
        <dt>A good one is back</dt>
        <dd>{back == null ? `${NONE} its check is not set` : `after ${duration(back)} at least`}</dd>
      </dl>
    </Card>
  );
}

function failOpenWords({ fails_open_below: floor, fails_open_now: open, kind }: Facts, ready: number | null): string {
  if (!kind) return "Not known.";
  if (floor == null) return "It would change nothing: this platform never ignores health.";
  if (open) return "It ignores health now and uses all instances, also those that fail.";
  const now = ready === null ? "" : ` ${count(ready)} are now.`;
  if (floor <= 1) return `With none ready it would use all instances, healthy or not.${now}`;
  return `With fewer than ${count(floor)} ready it would use all instances, healthy or not.${now}`;
}
