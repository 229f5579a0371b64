/** What the form of an SLO holds, and how it becomes what the API takes. */

import type { Schemas } from "../../api/client";
import { parseLabels, writeLabels } from "../../lib/labels";
import { percentOf, ppbOf } from "../../lib/target";

type Slo = Schemas["Slo"];
type NewSlo = Schemas["NewSlo"];

/** Number fields are empty text when nothing is set. */
export interface RuleDraft {
  name: string;
  severity: string;
  long_min: number | "";
  short_min: number | "";
  /** Of the budget, in percent. */
  share: number | "";
  min_bad: number | "";
}

export interface Draft {
  name: string;
  service: string;
  owner: string;
  description: string;
  labels: string;
  /** `monitor composite fleet` */
  subject: string;
  monitor: string;
  members: string[];
  composite: string;
  fleet: string;
  /** Who speaks for a fleet's quiet minutes; empty for nobody. */
  fallback: string;
  min_requests: number | "";
  sli: string;
  weight: string;
  threshold_ms: number | "";
  denominator: string;
  /** A request of a fleet that takes longer is bad; empty for any time. */
  within_ms: number | "";
  /** In percent, as text. */
  target: string;
  /** `rolling calendar fixed` */
  kind: string;
  days: number | "";
  period: string;
  timezone: string;
  anchor: string;
  from: string;
  to: string;
  unknown_policy: string;
  maintenance_policy: string;
  /** In percent. */
  partial_weight: number | "";
  coverage_min: number | "";
  decimals: number | "";
  own_rules: boolean;
  rules: RuleDraft[];
  channels: string[];
}

/** What the fields are called where two drafts are compared. */
export const labels: { readonly [K in keyof Draft]: string } = {
  name: "Name",
  service: "Service",
  subject: "About",
  monitor: "Monitor",
  members: "Monitors",
  composite: "Down when",
  fleet: "Fleet",
  fallback: "Quiet minutes by",
  min_requests: "Quiet below",
  sli: "Good is",
  weight: "Locations",
  threshold_ms: "Quick is at most, ms",
  denominator: "Out of",
  within_ms: "Answered within, ms",
  target: "Objective, %",
  kind: "Window",
  days: "Length, days",
  period: "Period",
  timezone: "Time zone",
  anchor: "Anchor",
  from: "From",
  to: "To",
  unknown_policy: "Unknown time",
  maintenance_policy: "Maintenance",
  partial_weight: "Partial counts, %",
  coverage_min: "Least coverage, %",
  decimals: "Decimals",
  own_rules: "Own burn rules",
  rules: "Burn rules",
  channels: "Channels",
  owner: "Owner",
  description: "Description",
  labels: "Labels",
};

/** What a new SLO starts from; `monitor` is the page that it was asked for on. */
export function emptyDraft(monitor: string, zone: string): Draft {
  return {
    name: "",
    service: "",
    owner: "",
    description: "",
    labels: "",
    subject: "monitor",
    monitor,
    members: [],
    composite: "any_down",
    fleet: "",
    fallback: "",
    min_requests: 20,
    sli: "availability",
    weight: "pooled",
    threshold_ms: 300,
    denominator: "ok_only",
    within_ms: "",
    target: "99.9",
    kind: "calendar",
    days: 30,
    period: "1M",
    timezone: zone,
    anchor: "",
    from: "",
    to: "",
    unknown_policy: "exclude",
    maintenance_policy: "exclude",
    partial_weight: 0,
    coverage_min: 90,
    decimals: 3,
    own_rules: false,
    rules: [],
    channels: [],
  };
}

export function draftOf(slo: Slo): Draft {
  const fleet = slo.subject === "fleet";
  const { window } = slo;
  return {
    name: slo.name,
    service: slo.service,
    owner: slo.owner,
    description: slo.description,
    labels: writeLabels(slo.labels),
    subject: slo.subject,
    monitor: fleet ? "" : (slo.monitor?.id ?? ""),
    members: slo.members.map((member) => member.id),
    composite: slo.composite ?? "any_down",
    fleet: slo.fleet?.id ?? "",
    fallback: fleet && slo.min_requests != null ? (slo.monitor?.id ?? "") : "",
    min_requests: slo.min_requests ?? 20,
    sli: slo.sli,
    weight: slo.weight ?? "pooled",
    threshold_ms: fleet || slo.threshold_us == null ? 300 : slo.threshold_us / 1000,
    within_ms: fleet && slo.threshold_us != null ? slo.threshold_us / 1000 : "",
    denominator: slo.denominator ?? "ok_only",
    target: percentOf(slo.target_ppb),
    kind: window.kind,
    days: window.kind === "rolling" ? Number.parseInt(window.duration ?? "30", 10) : 30,
    period: window.kind === "calendar" ? (window.duration ?? "1M") : "1M",
    timezone: window.timezone,
    anchor: window.anchor ?? "",
    from: window.from ?? "",
    to: window.to ?? "",
    unknown_policy: slo.unknown_policy,
    maintenance_policy: slo.maintenance_policy,
    partial_weight: slo.partial_weight_ppm / 10_000,
    coverage_min: Number((slo.coverage_min * 100).toFixed(4)),
    decimals: slo.decimals,
    own_rules: !slo.usual_rules,
    rules: slo.rules.map(ruleDraftOf),
    channels: slo.channels ?? [],
  };
}

export function ruleDraftOf(rule: Schemas["SloRule"]): RuleDraft {
  return {
    name: rule.name,
    severity: rule.severity,
    long_min: rule.long_s / 60,
    short_min: rule.short_s / 60,
    share: Number((rule.budget_fraction * 100).toFixed(4)),
    min_bad: rule.min_bad,
  };
}

const number = (value: number | "") => (value === "" ? null : value);
const scaled = (value: number | "", by: number) => (value === "" ? null : Number((value * by).toFixed(6)));

function windowOf(d: Draft): NewSlo["window"] {
  const timezone = d.timezone || null;
  if (d.kind === "rolling") return { kind: "rolling", duration: d.days === "" ? null : `${d.days}d`, timezone };
  if (d.kind === "fixed") return { kind: "fixed", from: d.from || null, to: d.to || null, timezone };
  return { kind: "calendar", duration: d.period, timezone, anchor: d.anchor || null };
}

/** The body of a request. What does not apply is null, which in a change takes it away. */
export function bodyOf(d: Draft): NewSlo {
  const [fleet, composite] = [d.subject === "fleet", d.subject === "composite"];
  const sli = fleet ? "requests" : composite ? "availability" : d.sli;
  const time = sli === "availability";
  const fallback = fleet && d.fallback !== "";
  return {
    name: d.name.trim(),
    service: d.service.trim(),
    owner: d.owner.trim(),
    description: d.description.trim(),
    labels: parseLabels(d.labels) ?? {},
    monitor: fleet ? d.fallback || null : composite ? null : d.monitor || null,
    members: composite ? d.members : null,
    composite: composite ? d.composite : null,
    fleet: fleet ? d.fleet || null : null,
    target_ppb: ppbOf(d.target) ?? 0,
    sli,
    window: windowOf(d),
    unknown_policy: d.unknown_policy,
    maintenance_policy: d.maintenance_policy,
    partial_weight_ppm: time ? scaled(d.partial_weight, 10_000) : null,
    coverage_min: scaled(d.coverage_min, 0.01),
    weight: sli === "probe_ratio" ? d.weight : null,
    threshold_us: sli === "latency" ? scaled(d.threshold_ms, 1000) : fleet ? scaled(d.within_ms, 1000) : null,
    denominator: sli === "latency" ? d.denominator : null,
    fallback: fallback ? "monitor" : null,
    min_requests: fallback ? number(d.min_requests) : null,
    rules: d.own_rules ? d.rules.map((rule) => ruleOf(rule, time)) : null,
    decimals: number(d.decimals),
    channels: d.channels.length > 0 ? d.channels : null,
  };
}

function ruleOf(rule: RuleDraft, time: boolean): Schemas["NewSloRule"] {
  return {
    name: rule.name.trim(),
    severity: rule.severity,
    long_s: scaled(rule.long_min, 60) ?? 0,
    short_s: scaled(rule.short_min, 60) ?? 0,
    budget_fraction: scaled(rule.share, 0.01) ?? 0,
    min_bad: time ? null : number(rule.min_bad),
  };
}

const renamed: Record<string, keyof Draft> = {
  target_ppb: "target",
  partial_weight_ppm: "partial_weight",
  "window.timezone": "timezone",
  "window.anchor": "anchor",
  "window.from": "from",
  "window.to": "to",
  "window.kind": "kind",
  window: "kind",
};

const same = [
  "name",
  "service",
  "owner",
  "description",
  "composite",
  "fleet",
  "sli",
  "weight",
  "denominator",
  "unknown_policy",
  "maintenance_policy",
  "coverage_min",
  "min_requests",
  "decimals",
];

const ruleFields: Record<string, string> = {
  name: "name",
  severity: "severity",
  long_s: "long_min",
  short_s: "short_min",
  budget_fraction: "share",
  min_bad: "min_bad",
};

/** The form's field for the API's; null when the form has none. */
export function fieldOf(field: string, draft: Pick<Draft, "subject" | "kind">): string | null {
  if (field === "window.duration") return draft.kind === "rolling" ? "days" : "period";
  if (field === "threshold_us") return draft.subject === "fleet" ? "within_ms" : "threshold_ms";
  if (field in renamed) return renamed[field] ?? null;
  if (same.includes(field)) return field;
  if (field === "monitor" || field === "fallback") return draft.subject === "fleet" ? "fallback" : "monitor";
  for (const list of ["members", "channels", "labels"]) if (field.startsWith(list)) return list;
  const rule = /^rules\[(\d+)\](?:\.(\w+))?/.exec(field);
  if (rule) return `rules.${rule[1]}.${ruleFields[rule[2] ?? "name"] ?? "name"}`;
  return null;
}

/** Something to look at exists: there is a subject and an objective that can be read. */
export function isAskable(d: Draft): boolean {
  const subject = { monitor: d.monitor !== "", composite: d.members.length > 0, fleet: d.fleet !== "" }[d.subject];
  return subject === true && ppbOf(d.target) !== null;
}
