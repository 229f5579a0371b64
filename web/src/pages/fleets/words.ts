/** Fleets in words: states, sentences, sources. */

import type { Schemas } from "../../api/client";
import { count, duration, list, NBSP, NONE, plural } from "../../lib/format";
import { epoch } from "../../lib/time";

type Fleet = Schemas["Fleet"];
type Brief = Schemas["FindingBrief"];

/** The state whose mark and colour a fleet has. */
export function fleetMark(fleet: Pick<Fleet, "now">): string {
  const { state, worst } = fleet.now;
  if (state === "waiting") return "pending";
  if (state === "no_data") return "unknown";
  if (state === "ok") return "up";
  if (worst?.kind === "few_ready" || worst === null || worst === undefined)
    return state === "critical" ? "down" : "slow";
  return worst.instances.length === 0 ? "partial" : state === "critical" ? "down" : "slow";
}

/** The verdict in two words. */
export function fleetWord(fleet: Pick<Fleet, "now">): string {
  const { state, worst } = fleet.now;
  if (state === "waiting") return "Waiting for logs";
  if (state === "no_data") return "No data";
  if (state === "ok" || !worst) return state === "ok" ? "like each other" : "Trouble";
  switch (worst.kind) {
    case "few_ready":
      return "Fewer than wanted";
    case "flapping":
      return worst.instances.length === 0 ? "Shared, partial" : "Flapping";
    case "restart":
      return "Restarting";
    case "stale_version":
      return "Stale version";
    case "zombie":
      return "Zombie";
    case "left_rotation":
      return "Left rotation";
    case "no_data":
      return "No data";
    default:
      if (worst.instances.length === 0) return "Shared cause";
      return worst.instances.length === 1 ? "One instance" : plural(worst.instances.length, "instance");
  }
}

const order = { critical: 0, warning: 1, no_data: 2, waiting: 3, ok: 4 } as const;

/** The worst first, then by name. */
export function worstFirst(fleets: readonly Fleet[]): Fleet[] {
  return [...fleets].sort((a, b) => order[a.now.state] - order[b.now.state] || a.name.localeCompare(b.name));
}

/** The sentence above the list. */
export function fleetsSentence(fleets: readonly Fleet[]): string {
  if (fleets.length === 0) return "No fleet is watched yet.";
  const trouble = worstFirst(fleets).filter((f) => f.now.state === "critical" || f.now.state === "warning");
  const silent = fleets.filter((f) => f.now.state === "no_data");
  const parts = trouble.slice(0, 3).map((f) => `${f.name}: ${lower(fleetWord(f))}`);
  if (trouble.length > 3) parts.push(`${count(trouble.length - 3)} more`);
  if (trouble.length > 0) return `${upper(list(parts))}.`;
  if (silent.length > 0) return `Nothing is found, but ${list(silent.map((f) => f.name))} sends nothing.`;
  const waiting = fleets.filter((f) => f.now.state === "waiting").length;
  if (waiting === fleets.length) return `${plural(waiting, "fleet")} ${waiting === 1 ? "waits" : "wait"} for logs.`;
  return "In every fleet the instances are like each other.";
}

/** `8 of 8 ready`, `20 in rotation`, `not known`. */
export function readyWords(now: Fleet["now"]): string {
  if (now.state === "waiting") return "no line yet";
  if (now.state === "no_data") return "not known";
  if (now.ready !== null && now.ready !== undefined) {
    const of = now.expected ? ` of ${count(now.expected)}` : "";
    const spread =
      now.ready_low !== now.ready_high && now.ready_low != null ? ` (${now.ready_low}–${now.ready_high})` : "";
    return `${count(now.ready)}${of} ready${spread}`;
  }
  if (now.in_rotation !== null && now.in_rotation !== undefined) return `${count(now.in_rotation)} in rotation`;
  return "not known";
}

/** How far behind the logs are, or for how long they have been silent. */
export function behindWords(now: Fleet["now"], at: number): string {
  const received = epoch(now.received_at);
  const newest = epoch(now.newest_at);
  if (received === null || newest === null) return "none yet";
  if (now.live_sources === 0) return `silent ${duration(at - received)}`;
  const sources = plural(now.sources, "source");
  const quiet = now.sources - now.live_sources;
  const silent = quiet > 0 ? `, ${count(quiet)} silent` : "";
  return `${sources}, ${duration(Math.max(0, received - newest))} behind${silent}`;
}

/** A source of evidence as people call it. */
export function sourceWord(source: string | null | undefined): string {
  const words: Record<string, string> = {
    haproxy: "HAProxy",
    kubernetes: "Kubernetes",
    alb_health: "ALB health log",
    envoy: "Envoy",
    nginx_error: "nginx error log",
    caddy: "Caddy",
    probes: "its own log's checks",
    traffic: "traffic alone",
  };
  return source ? (words[source] ?? source) : NONE;
}

/** Why something was taken out. */
export function causeWord(cause: string): string {
  const words: Record<string, string> = {
    check: "its check failed",
    ejected: "ejected for real requests",
    drain: "drained on purpose",
    maintenance: "maintenance",
    gone: "gone",
    silence: "no traffic any more",
  };
  return words[cause] ?? cause;
}

/** The kind of a finding as a heading. */
export function kindWord(kind: Brief["kind"]): string {
  const words: Record<Brief["kind"], string> = {
    errors: "Errors",
    latency: "Slow",
    black_hole: "Black hole",
    blank: "Blank pages",
    code_mix: "Other codes",
    few_ready: "Few ready",
    left_rotation: "Left rotation",
    returned_together: "Back together",
    restart: "Restart",
    flapping: "Flapping",
    zombie: "Zombie",
    stale_version: "Stale version",
    no_data: "No data",
    contradiction: "Checks pass, users fail",
    slow_removal: "Slow removal",
  };
  return words[kind] ?? kind;
}

/** The mark of a finding: whom it names decides the shape, its severity the colour. */
export function findingMark(finding: { severity: string; instances: readonly string[]; kind: string }): string {
  if (finding.kind === "no_data") return "unknown";
  if (finding.severity === "info") return "maintenance";
  if (finding.instances.length === 0) return "partial";
  return finding.severity === "critical" ? "down" : "slow";
}

/** Numbers of a finding's evidence by name, without nesting, for a table. */
export function evidenceRows(evidence: unknown): [string, string][] {
  if (evidence === null || typeof evidence !== "object") return [];
  return Object.entries(evidence as Record<string, unknown>)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => [name.replaceAll("_", " "), valueWords(value)]);
}

function valueWords(value: unknown): string {
  if (typeof value === "number") return Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(4)));
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(valueWords).join(", ");
  if (value !== null && typeof value === "object")
    return Object.entries(value)
      .map(([name, inner]) => `${name.replaceAll("_", " ")}${NBSP}${valueWords(inner)}`)
      .join(", ");
  return String(value);
}

const upper = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const lower = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);
