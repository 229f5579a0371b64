/** Fleets in words: states, sentences, sources. */

import type { Schemas } from "../api/client";
import { count, duration, list, NONE, plural } from "./format";
import { epoch } from "./time";

type Fleet = Schemas["Fleet"];
type Brief = Schemas["FindingBrief"];

const UNHEARD: readonly Fleet["now"]["state"][] = ["waiting", "no_source", "no_data", "behind"];

/** Whether nothing is known of how the fleet is now. */
export function isUnheard(state: Fleet["now"]["state"]): boolean {
  return UNHEARD.includes(state);
}

/** The state whose mark and colour a fleet has. */
export function fleetMark(fleet: Pick<Fleet, "now">): string {
  const { state, worst } = fleet.now;
  if (state === "waiting") return "pending";
  if (isUnheard(state)) return "unknown";
  if (state === "ok") return "up";
  if (worst?.kind === "no_data") return "unknown";
  if (worst?.kind === "few_ready" || worst === null || worst === undefined)
    return state === "critical" ? "down" : "slow";
  return worst.instances.length === 0 ? "partial" : state === "critical" ? "down" : "slow";
}

/** The verdict in two words. */
export function fleetWord(fleet: Pick<Fleet, "now">): string {
  const { state, worst } = fleet.now;
  if (state === "waiting") return "Waiting for logs";
  if (state === "no_source") return "No source";
  if (state === "no_data") return "No data";
  if (state === "behind") return "Catching up";
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

const order = { critical: 0, warning: 1, no_data: 2, no_source: 2, behind: 2, waiting: 3, ok: 4 } as const;

/** The worst first, then by name. */
export function worstFirst(fleets: readonly Fleet[]): Fleet[] {
  return [...fleets].sort((a, b) => order[a.now.state] - order[b.now.state] || a.name.localeCompare(b.name));
}

/** The sentence above the list. */
export function fleetsSentence(fleets: readonly Fleet[]): string {
  if (fleets.length === 0) return "No fleet is watched yet.";
  const trouble = worstFirst(fleets).filter((f) => f.now.state === "critical" || f.now.state === "warning");
  const silent = fleets.filter((f) => f.now.state === "no_data" || f.now.state === "no_source");
  const late = fleets.filter((f) => f.now.state === "behind");
  const parts = trouble.slice(0, 3).map((f) => `${troubleWords(f)}.`);
  if (trouble.length > 3)
    parts.push(`${plural(trouble.length - 3, "more fleet")} ${trouble.length === 4 ? "needs" : "need"} attention.`);
  if (trouble.length > 0) return parts.join(" ");
  if (silent.length > 0) return `Nothing is found, but ${list(silent.map((f) => f.name))} sends nothing.`;
  if (late.length > 0) return `Nothing is found, but ${list(late.map((f) => f.name))} sends old lines only.`;
  const waiting = fleets.filter((f) => f.now.state === "waiting").length;
  if (waiting === fleets.length) return `${plural(waiting, "fleet")} ${waiting === 1 ? "waits" : "wait"} for logs.`;
  return "In every fleet the instances are like each other.";
}

/** What is the matter with a fleet, as a sentence without its end. */
function troubleWords(fleet: Fleet): string {
  const { name, now } = fleet;
  const { worst } = now;
  const who = worst?.instances.length === 1 ? worst.instances[0] : null;
  if (!worst) return `${name} needs attention`;
  switch (worst.kind) {
    case "few_ready":
      return `${name} has fewer instances ready than it should`;
    case "flapping":
      return who ? `In ${name} ${who} flaps` : `In ${name} instances flap together`;
    case "restart":
      return `In ${name} ${who ?? "an instance"} restarts`;
    case "stale_version":
      return `In ${name} an old version serves`;
    case "zombie":
      return `In ${name} something serves that was taken out`;
    case "no_data":
      return `A log source of ${name} is silent`;
    default:
      if (worst.instances.length === 0) return `In ${name} something shared is bad`;
      if (worst.instances.length === 1) return `In ${name} one instance is bad`;
      return `In ${name} ${plural(worst.instances.length, "instance")} are bad`;
  }
}

/** How many marks stand for the instances, how many of them are bad, and in which shape. */
export function marksOf({ now }: Pick<Fleet, "now">): { of: number; bad: number; mark: Shape } {
  const known = now.ready ?? now.in_rotation ?? 0;
  const of = Math.max(known + now.unknown, now.expected ?? 0);
  if (isUnheard(now.state)) return { of, bad: of, mark: "unknown" };
  if (now.state !== "critical" && now.state !== "warning") return { of, bad: Math.max(0, of - known), mark: "unknown" };
  const mark = fleetMark({ now }) as Shape;
  // Of a silent source the name is the source's; those are not known of whom it told.
  if (mark === "unknown") return { of, bad: Math.min(of, now.unknown), mark };
  const named = now.worst?.instances.length ?? 0;
  // What is shared is everybody's; few ready are those that are missing.
  const bad = named > 0 ? named : mark === "partial" ? of : of - known;
  return { of, bad: Math.min(of, Math.max(0, bad)), mark };
}

type Shape = "down" | "partial" | "slow" | "unknown";

/** `8 of 8 ready`, `20 in rotation`, `not known`. */
export function readyWords(now: Fleet["now"]): string {
  if (now.state === "waiting") return "no line yet";
  if (isUnheard(now.state)) return "not known";
  const unknown = now.unknown > 0 ? `, ${count(now.unknown)} not known` : "";
  if (now.ready !== null && now.ready !== undefined) {
    const of = now.expected ? ` of ${count(now.expected)}` : "";
    const spread =
      now.ready_low !== now.ready_high && now.ready_low != null ? ` (${now.ready_low}–${now.ready_high})` : "";
    return `${count(now.ready)}${of} ready${spread}${unknown}`;
  }
  if (now.in_rotation !== null && now.in_rotation !== undefined)
    return `${count(now.in_rotation)} in rotation${unknown}`;
  return "not known";
}

/** How far behind the logs are, or for how long they have been silent. */
export function behindWords(now: Fleet["now"], at: number): string {
  const received = epoch(now.received_at);
  const newest = epoch(now.newest_at);
  if (now.state === "no_source") return "no source";
  if (received === null || newest === null) return "none yet";
  if (now.state === "behind") return `${largest(at - newest)} behind`;
  if (now.state === "no_data") return `silent ${largest(at - newest)}`;
  if (now.live_sources === 0) return `silent ${largest(at - received)}`;
  const sources = plural(now.sources, "source");
  const quiet = now.sources - now.live_sources;
  const silent = quiet > 0 ? `, ${count(quiet)} silent` : "";
  return `${sources}, ${duration(Math.max(0, received - newest))} behind${silent}`;
}

/** A span in its largest unit alone. */
export function largest(seconds: number): string {
  return duration(seconds).split(" ")[0] ?? "";
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

/** A state of an instance as people say it. */
export function instanceStateWord(state: string): string {
  return state.replaceAll("_", " ");
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

const compared = ["errors", "latency", "black_hole", "blank", "code_mix"];

/** Whether a kind of finding comes of comparing instances with one another. */
export function isCompared(kind: string): boolean {
  return compared.includes(kind);
}

/** Whether a finding says that everybody is hit alike, so that nobody is blamed. */
export function isShared(finding: { kind: string; instances: readonly string[] }): boolean {
  return finding.instances.length === 0 && isCompared(finding.kind);
}

/** The mark of a finding: whom it names decides the shape, its severity the colour. */
export function findingMark(finding: { severity: string; instances: readonly string[]; kind: string }): string {
  if (finding.kind === "no_data") return "unknown";
  if (finding.severity === "info") return "maintenance";
  if (isShared(finding)) return "partial";
  return finding.severity === "critical" ? "down" : "slow";
}

export const upper = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
