/** The four numbers below the sentence: what the finding stands on, where it is known. */

import type { Schemas } from "../../api/client";
import { isShared } from "../../lib/fleets";
import { count, duration, list, millis, percent, plural } from "../../lib/format";
import { hourMinute } from "../../lib/time";

type Finding = Pick<Schemas["FleetFinding"], "kind" | "scope" | "instances" | "from" | "evidence">;
type Instance = Pick<Schemas["FleetInstance"], "instance" | "attempts" | "errors" | "rescued">;
type Now = Pick<Schemas["FleetNow"], "ready" | "in_rotation" | "expected" | "min_ready">;

/** A number and what it means. */
export interface Figure {
  value: string;
  means: string;
}

/**
 * At most four numbers of an open finding. `instances` are those of the last `span_s` seconds. What the
 * evidence does not hold is left out, never guessed.
 */
export function figuresOf(finding: Finding, instances: readonly Instance[], now: Now, span_s: number): Figure[] {
  const known = evidenceOf(finding.evidence);
  const shared = isShared(finding);
  const all = [
    shared ? elevated(known) : chance(known),
    shared ? routeOf(known) : null,
    latency(finding, known),
    failed(finding, known, instances, span_s),
    ready(finding, now),
    load(finding, instances, now),
  ];
  return all.filter((figure) => figure !== null).slice(0, 4);
}

type Known = ReturnType<typeof evidenceOf>;

/** The numbers of the evidence by name; what is not a number is not there. */
function evidenceOf(evidence: unknown) {
  const all = evidence !== null && typeof evidence === "object" ? (evidence as Record<string, unknown>) : {};
  const number = (name: string) => (typeof all[name] === "number" ? (all[name] as number) : null);
  const routes = Array.isArray(all.routes) ? (all.routes as { route: string; attempts: number; bad: number }[]) : [];
  const codes = Object.entries((all.codes as Record<string, number> | undefined) ?? {});
  return { number, routes, codes };
}

/** `< 1 in a million`, `1 in 24,000`. */
export function oddsOf(p: number): string {
  if (p < 1e-6) return "< 1 in a million";
  const odds = Math.max(1, 1 / p);
  const digits = Math.max(1, 10 ** (Math.floor(Math.log10(odds)) - 1));
  return `1 in ${count(Math.round(odds / digits) * digits)}`;
}

function chance({ number }: Known): Figure | null {
  const p = number("p");
  if (p === null) return null;
  const windows = number("windows_of_last_3");
  const length = number("window_s") ?? 60;
  const last = length === 60 ? "3 minutes" : `3 windows of ${duration(length)}`;
  return {
    value: oddsOf(p),
    means: `that chance alone does this${windows === null ? "" : `; ${count(windows)} of the last ${last}`}`,
  };
}

function elevated({ number }: Known): Figure | null {
  const [many, of] = [number("elevated"), number("instances")];
  if (many === null || of === null || of < 2) return null;
  const enough = Math.max(2, Math.ceil(of / 2));
  return {
    value: `${count(many)} of ${count(of)}`,
    means: `instances are worse than usual for them; ${count(enough)} are enough to suspect a shared cause`,
  };
}

function routeOf({ number, routes, codes }: Known): Figure | null {
  const first = routes[0];
  const bad = number("bad");
  if (!first || first.attempts === 0) return null;
  const code = [...codes].sort((a, b) => b[1] - a[1])[0];
  const mostly = code && bad && code[1] * 2 > bad ? `, mostly with ${code[0]}` : "";
  const part = bad ? `; ${percent(first.bad / bad, 0)} of all that fails` : "";
  return { value: percent(first.bad / first.attempts, 0), means: `of ${first.route} fails${mostly}${part}` };
}

function latency(finding: Finding, { number }: Known): Figure | null {
  const own = number("p90_ms");
  if (own === null) return null;
  const peers = number("peers_p90_ms");
  const other = peers ?? number("usual_p90_ms");
  if (other === null || other <= 0) return { value: millis(own), means: "p90 of its requests" };
  const whose = peers === null ? "what is usual" : finding.instances.length === 1 ? "its peers" : "their peers";
  const times = own / other;
  const early =
    times <= 0.6 && finding.kind !== "latency"
      ? finding.instances.length === 1
        ? ": it fails before doing the work"
        : ": they fail before doing the work"
      : "";
  return { value: millis(own), means: `p90, ${times.toFixed(times < 10 ? 1 : 0)}\u00a0× ${whose}${early}` };
}

function failed(finding: Finding, { number }: Known, instances: readonly Instance[], span_s: number): Figure | null {
  const bad = number("bad_so_far");
  if (bad === null) return null;
  const since = hourMinute(finding.from);
  if (finding.kind === "latency") return { value: count(bad), means: `slow requests since ${since}` };
  if (finding.kind === "blank") return { value: count(bad), means: `next to empty answers since ${since}` };
  if (finding.kind === "code_mix") return { value: count(bad), means: `such answers since ${since}` };
  const about =
    finding.instances.length > 0 ? instances.filter((i) => finding.instances.includes(i.instance)) : instances;
  const errors = about.reduce((sum, i) => sum + i.errors, 0);
  const rescued = about.reduce((sum, i) => sum + i.rescued, 0);
  const reached =
    errors === 0
      ? ""
      : rescued === 0
        ? "; no retry saved any"
        : `; of ${count(errors)} in the last ${plural(Math.round(span_s / 60), "minute")} ${count(Math.max(0, errors - rescued))} reached users, a retry saved ${count(rescued)}`;
  return { value: count(bad), means: `attempts failed since ${since}${reached}` };
}

function ready(finding: Finding, now: Now): Figure | null {
  if (finding.kind !== "few_ready" || now.ready == null) return null;
  const floor = now.min_ready == null ? "" : `; fewer than ${count(now.min_ready)} is critical`;
  return {
    value: now.expected == null ? count(now.ready) : `${count(now.ready)} of ${count(now.expected)}`,
    means: `ready${floor}`,
  };
}

/** What the others carry when those that are named are out, or carry now for those that are. */
function load(finding: Finding, instances: readonly Instance[], now: Now): Figure | null {
  const serving = instances.filter((i) => i.attempts > 0).length;
  if (finding.kind === "few_ready") {
    const [of, left] = [now.expected ?? 0, now.ready ?? 0];
    if (left <= 0 || of <= left) return null;
    return times(of, left, "load on each that is left");
  }
  const out = finding.instances.length;
  const left = serving - out;
  if (out === 0 || left <= 0) return null;
  return times(
    serving,
    left,
    `load on each other one if ${out > 2 ? "they are" : `${list(finding.instances)} ${out === 1 ? "is" : "are"}`} taken out`,
  );
}

function times(of: number, left: number, means: string): Figure {
  return { value: `×\u00a0${(of / left).toFixed(2)}`, means: `${means}: ${count(of)}\u00a0/\u00a0${count(left)}` };
}
