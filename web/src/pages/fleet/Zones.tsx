import type { Schemas } from "../../api/client";
import { count } from "../../lib/format";
import { epoch } from "../../lib/time";
import { ReadyLine } from "../fleets/ReadyLine";

type Health = Schemas["FleetHealth"];
type Zone = Schemas["FleetZone"];

/** How many are ready in each zone, now and over the span of the chart; nothing where no instance has a zone. */
export function Zones({ now, health }: { now: Schemas["FleetNow"]; health: Health | undefined }) {
  if (now.zones.length === 0) return null;
  const word = now.ready == null && now.in_rotation != null ? "in rotation" : "ready";
  const from = epoch(health?.from);
  const to = epoch(health?.to);
  return (
    <ul className="plain zones" aria-label="By zone">
      {now.zones.map((zone) => (
        <li key={zone.zone ?? ""}>
          <b>{zone.zone ?? "no zone"}</b>
          <span className={zone.ready === 0 ? "strong" : undefined}>{zoneWords(zone, word)}</span>
          {health && from !== null && to !== null && (
            <ReadyLine
              steps={zoneSteps(health.ready, zone.zone ?? null)}
              from={from}
              to={to}
              expected={zone.instances}
              floor={null}
              width={160}
              height={20}
            />
          )}
        </li>
      ))}
    </ul>
  );
}

/** `2 of 3 ready, 1 not known`. */
export function zoneWords({ ready, unknown, instances }: Zone, word: string): string {
  if (ready == null) return `not known, of ${count(instances)}`;
  const rest = unknown > 0 ? `, ${count(unknown)} not known` : "";
  return `${count(ready)} of ${count(instances)} ${word}${rest}`;
}

/** The ready count of one zone; where it was not counted yet, nothing is known. */
export function zoneSteps(steps: Health["ready"], zone: string | null): Health["ready"] {
  return steps.map((step) => {
    const of = step.zones.find((one) => (one.zone ?? null) === zone);
    return { ...step, ready: of?.ready ?? null, unknown: of?.unknown ?? 0 };
  });
}
