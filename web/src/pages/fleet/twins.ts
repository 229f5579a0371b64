/** Instances that may be one and the same under two names. */

import type { Schemas } from "../../api/client";

type Instance = Pick<
  Schemas["FleetInstance"],
  "instance" | "configured" | "aliases" | "attempts" | "probes_passed" | "probes_failed" | "state"
>;

const hostOf = (name: string) => name.replace(/^\[|\]?(:\d+)?$/g, "");

/** Names that differ by nothing but a port which one of them leaves out. */
export function sameHost(instances: readonly Instance[]): [string, string][] {
  const here = instances.filter((one) => one.state !== "gone").map((one) => one.instance);
  return here
    .filter((name) => hostOf(name) === name)
    .flatMap((bare): [string, string][] => {
      const others = here.filter((name) => name !== bare && hostOf(name) === bare);
      // Two ports of one host are two instances: then nobody knows which of them it is.
      return others.length === 1 && others[0] !== undefined ? [[bare, others[0]]] : [];
    });
}

/** Those that only their own log tells of, beside others that only a balancer tells of. */
export function ownLogsAlone(instances: readonly Instance[]): string[] {
  const here = instances.filter((one) => one.state !== "gone");
  const checked = (one: Instance) => one.probes_passed + one.probes_failed > 0;
  const alone = here.filter((one) => checked(one) && one.attempts === 0);
  const balanced = here.filter((one) => !checked(one) && one.attempts > 0);
  return balanced.length === 0 ? [] : alone.map((one) => one.instance);
}

/** What to say of it; null when there is nothing to suspect. */
export function twinWords(instances: readonly Instance[]): string | null {
  const [same] = sameHost(instances);
  if (same) return `${same[0]} and ${same[1]} look like one instance under two names, and count twice.`;
  const own = ownLogsAlone(instances);
  if (own.length === 0) return null;
  const who = own.length === 1 ? `${own[0]} is` : `${own[0]} and ${own.length - 1} more are`;
  return `${who} known by an own log alone, and others by a balancer alone: are they the same, they count twice.`;
}
