/** Where a share stands on an axis from 0 to the next round share, and who comes first in the table. */

import type { Schemas } from "../../api/client";
import { isCompared } from "../../lib/fleets";

type Instance = Schemas["FleetInstance"];
type Step = Schemas["FleetStep"];

const rounds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1];

/** A share that stands for 99 % of what may come about, in standard deviations. */
const Z = 2.58;
/** Ordinary differences between instances, as the judge allows for at least. */
const RHO = 0.002;

/**
 * Where the peers' share puts an instance with so many attempts: 99 % of what chance and ordinary
 * differences between instances (`rho`) give. Null where the peers say too little.
 */
export function peersBand(
  instance: Pick<Instance, "peers_share" | "attempts">,
  rho = RHO,
): { low: number; high: number } | null {
  const { peers_share: share, attempts } = instance;
  if (share == null || attempts === 0) return null;
  const reach = Z * Math.sqrt(share * (1 - share) * (1 / attempts + Math.max(RHO, rho)));
  return { low: Math.max(0, share - reach), high: Math.min(1, share + reach) };
}

/** The round end of an axis that holds all intervals; at least one per cent. */
export function axisEnd(
  instances: readonly Pick<Instance, "error_high" | "peers_share" | "attempts">[],
  before: number | null = null,
): number {
  const most = Math.max(before ?? 0, ...instances.flatMap((i) => [i.error_high ?? 0, peersBand(i)?.high ?? 0]));
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
      byName(a.instance, b.instance),
  );
}

/** `web-2` before `web-10`. */
export function byName(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

/**
 * An instance beside its peers, in words: a comparison found it unlike them, something else is the matter
 * with it, or judging is held because everybody is hit alike.
 */
export function verdictOf(
  instance: Pick<Instance, "findings" | "attempts">,
  shared = false,
): "unlike" | "chronic" | "trouble" | "held" | "like" | "unknown" {
  const told = instance.findings.filter((f) => isCompared(f.kind));
  if (told.some((f) => !f.chronic)) return "unlike";
  if (instance.findings.some((f) => !f.chronic && f.severity !== "info")) return "trouble";
  if (told.length > 0) return "chronic";
  if (instance.attempts === 0) return "unknown";
  return shared ? "held" : "like";
}

/** The share of failed attempts of the steps that begin within a span; null where none of them is known. */
export function shareWithin(series: readonly Step[], from: number, to: number): number | null {
  let attempts = 0;
  let errors = 0;
  for (const step of series) {
    const at = Date.parse(step.at) / 1000;
    if (at < from || at >= to) continue;
    attempts += step.attempts ?? 0;
    errors += step.errors ?? 0;
  }
  return attempts === 0 ? null : errors / attempts;
}
