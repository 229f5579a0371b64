import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { readyWords } from "../../lib/fleets";
import { count, duration, NONE, plural } from "../../lib/format";
import { type Measured, measuredBack, measuredOut } from "./measured";

type Facts = Schemas["PlatformFacts"];

/** What the balancer or platform does by itself, how soon it should, and how soon it did. */
export function PlatformCard({
  fleet,
  platform,
  removals,
}: {
  fleet: Schemas["Fleet"];
  platform: Facts | null;
  removals: readonly Schemas["Removal"][];
}) {
  const { minimum_s: least, worst_s: worst, return_s: back } = platform ?? {};
  const out = measuredOut(removals);
  return (
    <Card title="What the platform does" beside={platform?.name ?? "no platform is set"}>
      <dl className="facts body">
        <dt>If all are unhealthy</dt>
        <dd>
          {platform?.all_unhealthy
            ? `It ${platform.all_unhealthy.replace(/^It /, "").replace(/\.$/, "")}.`
            : "Not known: choose the platform in the settings of the fleet."}
        </dd>
        <dt>What failing open would do</dt>
        <dd>{platform?.fail_open ?? "Not known."}</dd>
        <dt>Failing open now</dt>
        <dd>{platform ? failOpenWords(platform, readyWords(fleet.now)) : "Not known."}</dd>
        <dt>A bad one is out</dt>
        <dd>
          {least == null
            ? `${NONE} its check is not set`
            : `after ${duration(least)} at least, ${duration(worst)} if it hangs just after a check`}
          {out && `; measured: ${measuredWords(out)}${slowWords(out, worst)}`}
        </dd>
        <dt>A good one is back</dt>
        <dd>
          {back == null ? `${NONE} its check is not set` : `after ${duration(back)} at least`}
          {measuredBack(removals) && `; measured: ${measuredWords(measuredBack(removals))}`}
        </dd>
      </dl>
    </Card>
  );
}

function measuredWords(measured: Measured | null): string {
  if (!measured) return NONE;
  if (measured.count === 1) return `${duration(measured.slowest)}, once`;
  return `${duration(measured.median)} as a rule, ${duration(measured.slowest)} at most, of ${plural(measured.count, "time")}`;
}

function slowWords(out: Measured, worst: number | null | undefined): string {
  // Logs tell seconds, and the balancer's own timers add to them.
  return worst != null && out.slowest > worst + 2 ? ". The slowest took longer than the check explains" : "";
}

function failOpenWords({ fails_open_below: floor, fails_open_now: open, kind }: Facts, now: string): string {
  if (!kind) return "Not known.";
  if (floor == null) return "No: it never ignores health.";
  if (open) return "Yes: it ignores health and uses all instances, also those that fail.";
  return `${floor <= 1 ? "With none ready" : `With fewer than ${count(floor)} ready`}. Now: ${now}.`;
}
