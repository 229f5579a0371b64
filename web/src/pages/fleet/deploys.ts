/** Deploys, as the platform tells of them: instances that report another version. */

import type { Schemas } from "../../api/client";
import { byName } from "./scale";

type FleetEvent = Schemas["FleetEvent"];

/** Reports of one version that are closer than this are one roll-out; seconds. */
const APART = 1800;

/** One roll-out: seconds since 1970 of its first and last instance. */
export interface Deploy {
  version: string;
  from: number;
  to: number;
  instances: string[];
}

/** Roll-outs among events, the earliest first. */
export function deploysOf(events: readonly FleetEvent[]): Deploy[] {
  const told = events.flatMap(({ at, event }) => {
    const { what, instance } = event as { what?: unknown; instance?: unknown };
    const version = what !== null && typeof what === "object" ? (what as { version?: unknown }).version : undefined;
    if (typeof version !== "string" || typeof instance !== "string") return [];
    return [{ at: Date.parse(at) / 1000, version, instance }];
  });
  told.sort((a, b) => a.at - b.at);
  const deploys: Deploy[] = [];
  for (const { at, version, instance } of told) {
    const open = deploys.findLast((deploy) => deploy.version === version && at - deploy.to <= APART);
    if (!open) deploys.push({ version, from: at, to: at, instances: [instance] });
    else {
      open.to = at;
      if (!open.instances.includes(instance)) open.instances.push(instance);
    }
  }
  for (const deploy of deploys) deploy.instances.sort(byName);
  return deploys;
}
