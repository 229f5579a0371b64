/** Where a share stands on an axis from 0 to the next round share, and who comes first in the table. */

import type { Schemas } from "../../api/client";

type Instance = Schemas["FleetInstance"];

const rounds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1];

/** The round end of an axis that holds all intervals; at least one per cent. */
export function axisEnd(instances: readonly Pick<Instance, "error_high" | "peers_share">[]): number {
  const most = Math.max(0, ...instances.flatMap((i) => [i.error_high ?? 0, i.peers_share ?? 0]));
  return rounds.find((end) => most <= end) ?? 1;
}

/** A share as a place between 0 and 1 on the axis; what lies beyond its end stands at the end. */
export function place(share: number, end: number): number {
  return Math.min(1, Math.max(0, share / end));
}

/** Who is blamed first, then the higher share of failures, then by name. */
export function blamedFirst(instances: readonly Instance[]): Instance[] {
  const blamed = (i: Instance) => (i.findings.length > 0 ? 0 : 1);
  return [...instances].sort(
    (a, b) =>
      blamed(a) - blamed(b) ||
      (blamed(a) === 0 ? (b.error_share ?? 0) - (a.error_share ?? 0) : 0) ||
      a.instance.localeCompare(b.instance, "en", { numeric: true }),
  );
}

/** Unlike its peers in words: a comparison found it so, or its interval lies outside of theirs. */
export function verdictOf(instance: Instance): "unlike" | "trouble" | "like" | "unknown" {
  const compared = ["errors", "latency", "black_hole", "blank", "code_mix"];
  if (instance.findings.some((f) => compared.includes(f.kind))) return "unlike";
  if (instance.findings.length > 0) return "trouble";
  return instance.attempts === 0 ? "unknown" : "like";
}
