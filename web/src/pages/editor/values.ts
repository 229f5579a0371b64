import type { Schemas } from "../../api/client";
import type { Line } from "../../lib/assertions";
import { parseDays, writeDays } from "../../lib/certificates";
import { parseLabels, writeLabels } from "../../lib/labels";
import { kindOf } from "./kinds";

type Policy = Schemas["PolicySpec"];

/** The form, as people fill it in. Empty numbers mean "the default". */
export interface Values {
  /** As in `check.kind`. */
  kind: string;
  name: string;
  group: string;
  url: string;
  method: string;
  headers: { name: string; value: string }[];
  body: string;
  auth: "none" | "basic" | "bearer";
  username: string;
  password: string;
  token: string;
  follow: boolean;
  max_redirects: number | "";
  http_version: string;
  proxy: string;
  verify: boolean;
  server_name: string;
  min_days_left: number | "";
  /** What its TLS settings had that this form does not show. */
  tls_rest: Record<string, unknown>;
  ip_family: string;
  max_body_kib: number | "";
  assertions: Line[];
  /** What is said and heard on a TCP connection. */
  dialogue: { step: "send" | "expect" | "reject"; text: string }[];
  /** Whose way of asking for TLS is used, empty: none; of a mail server, when it has to offer TLS. */
  starttls: string;
  ehlo_name: string;
  subprotocol: string;
  send: string;
  expect: string;
  record_name: string;
  record_type: string;
  server: string;
  transport: string;
  /** Echo requests. */
  count: number | "";
  /** Bytes of an echo request. */
  size: number | "";
  service: string;
  /** How a heartbeat is due. */
  due: "every" | "cron";
  period_s: number | "";
  cron: string;
  zone: string;
  grace_s: number | "";
  max_run_s: number | "";
  interval_s: number | "";
  timeout_s: number | "";
  slow_ms: number | "";
  from: "all" | "listed" | "labelled";
  listed: string[];
  location_labels: string;
  preset: "quick" | "balanced" | "careful";
  quorum: string;
  k: number | "";
  percent: number | "";
  /** Overrides of the policy by name; empty ones are left to the preset. */
  overrides: Record<Override, number | "">;
  told: "default" | "listed" | "escalation";
  /** Id of the escalation that it names; empty: none. */
  escalation: string;
  channels: string[];
  /** Days before the end of a certificate, as they are typed; empty: those of the settings. */
  certificate_days: string;
  labels: string;
  runbook_url: string;
  /** Id of the fleet behind it; empty: none. */
  fleet: string;
  /** Ids of the monitors that it depends on. */
  depends_on: string[];
  /** What the check had that this form does not show; it goes back as it came. */
  rest: Record<string, unknown>;
}

export const overrides = [
  "fail_after",
  "pass_after",
  "retry_gap_s",
  "pass_gap_s",
  "min_separation_s",
  "min_agree",
  "min_domains",
  "min_regions",
  "partial_min",
  "confirm_for_s",
  "split_for_s",
  "blind_for_s",
  "recover_for_s",
  "reopen_within_s",
] as const;
export type Override = (typeof overrides)[number];

const noOverrides = Object.fromEntries(overrides.map((name) => [name, ""])) as Record<Override, number | "">;

export const fresh: Values = {
  kind: "http",
  name: "",
  group: "",
  url: "",
  method: "GET",
  headers: [],
  body: "",
  auth: "none",
  username: "",
  password: "",
  token: "",
  follow: true,
  max_redirects: "",
  http_version: "auto",
  proxy: "",
  verify: true,
  server_name: "",
  min_days_left: "",
  tls_rest: {},
  ip_family: "any",
  max_body_kib: "",
  assertions: [{ on: "status", arg: "", op: "in", value: "2xx" }],
  dialogue: [],
  starttls: "",
  ehlo_name: "",
  subprotocol: "",
  send: "",
  expect: "",
  record_name: "",
  record_type: "A",
  server: "",
  transport: "udp",
  count: "",
  size: "",
  service: "",
  due: "every",
  period_s: 86_400,
  cron: "",
  zone: "UTC",
  grace_s: 300,
  max_run_s: "",
  interval_s: 60,
  timeout_s: 10,
  slow_ms: "",
  from: "all",
  listed: [],
  location_labels: "",
  preset: "balanced",
  quorum: "majority",
  k: "",
  percent: "",
  overrides: noOverrides,
  told: "default",
  escalation: "",
  channels: [],
  certificate_days: "",
  labels: "",
  runbook_url: "",
  fleet: "",
  depends_on: [],
  rest: {},
};

/** The check object of the form; what is left out, the server fills in. */
export const checkOf = (v: Values) => ({ ...v.rest, kind: v.kind, ...kindOf(v.kind).toCheck(v) }) as Schemas["Check"];

/** A name to propose. */
export const proposedName = (v: Values): string => kindOf(v.kind).name(v);

export function locationsOf(v: Values): Schemas["Locations"] {
  if (v.from === "listed") return v.listed;
  if (v.from === "labelled") return { labels: parseLabels(v.location_labels) ?? {} };
  return "all";
}

export function policyOf(v: Values): Policy {
  const policy: Policy = { preset: v.preset };
  if (v.quorum === "at_least") policy.quorum = { mode: "at_least", ...(v.k === "" ? {} : { k: v.k }) };
  else if (v.quorum === "percent")
    policy.quorum = { mode: "percent", ...(v.percent === "" ? {} : { percent: v.percent }) };
  else if (v.quorum !== "majority") policy.quorum = { mode: v.quorum as "all" | "any" };
  for (const name of overrides) {
    const value = v.overrides[name];
    if (value !== "") policy[name] = value;
  }
  return policy;
}

const orNull = <T>(value: T | ""): T | null => (value === "" ? null : value);

/** How often, from where, and when they agree. */
const probingOf = (v: Values) => ({
  ...(v.interval_s === "" ? {} : { interval_s: v.interval_s }),
  ...(v.timeout_s === "" ? {} : { timeout_s: v.timeout_s }),
  slow_ms: orNull(v.slow_ms),
  locations: locationsOf(v),
  policy: policyOf(v),
});

/** Null when nothing was typed: then those of the settings count. */
function daysOf(text: string): number[] | null {
  const days = parseDays(text) ?? [];
  return days.length === 0 ? null : days;
}

/** The whole form as a new monitor, or as the change of one. */
export function bodyOf(v: Values): Schemas["NewMonitor"] {
  return {
    name: v.name.trim(),
    group: v.group.trim(),
    check: checkOf(v),
    ...(kindOf(v.kind).probed ? probingOf(v) : {}),
    labels: parseLabels(v.labels) ?? {},
    channels: v.told === "listed" ? v.channels : null,
    escalation: v.told === "escalation" ? orNull(v.escalation) : null,
    certificate_days: daysOf(v.certificate_days),
    runbook_url: v.runbook_url.trim() === "" ? null : v.runbook_url.trim(),
    fleet: orNull(v.fleet),
    depends_on: v.depends_on,
  } as Schemas["NewMonitor"];
}

/** A saved monitor in the form. */
export function valuesOf(m: Schemas["Monitor"]): Values {
  const check = { ...(m.check as Record<string, unknown>) };
  const take = <T>(name: string, missing: T): T => {
    const value = check[name];
    delete check[name];
    return value === undefined || value === null ? missing : (value as T);
  };
  const kind = take("kind", "http");
  const values: Values = {
    ...fresh,
    ...kindOf(kind).fromCheck(take),
    kind,
    name: m.name,
    group: m.group,
    interval_s: m.interval_s,
    timeout_s: m.timeout_s,
    slow_ms: m.slow_ms ?? "",
    preset: m.policy.preset ?? "balanced",
    quorum: m.policy.quorum?.mode ?? "majority",
    k: m.policy.quorum?.k ?? "",
    percent: m.policy.quorum?.percent ?? "",
    overrides: Object.fromEntries(overrides.map((name) => [name, m.policy[name] ?? ""])) as Values["overrides"],
    told: m.escalation ? "escalation" : m.channels ? "listed" : "default",
    escalation: m.escalation ?? "",
    channels: m.channels ?? [],
    certificate_days: writeDays(m.certificate_days ?? []),
    labels: writeLabels(m.labels),
    runbook_url: m.runbook_url ?? "",
    fleet: m.fleet ?? "",
    depends_on: m.depends_on,
  };
  if (Array.isArray(m.locations)) Object.assign(values, { from: "listed", listed: m.locations });
  else if (typeof m.locations === "object")
    Object.assign(values, { from: "labelled", location_labels: writeLabels(m.locations.labels) });
  values.rest = check;
  return values;
}

/** The form's field for a field of the API, or null when the form has none. */
export function fieldOf(path: string): string | null {
  const p = path.replace(/^check\./, "");
  const condition = /^assertions\[(\d+)\](?:\.(\w+))?/.exec(p);
  if (condition) {
    const part =
      { on: "on", op: "op", value: "value", name: "arg", path: "arg", quantifier: "arg" }[condition[2] ?? "value"] ??
      "value";
    return `assertions.${condition[1]}.${part}`;
  }
  const policy = /^policy\.(.+)$/.exec(path)?.[1];
  if (policy) {
    if (policy.startsWith("quorum.k")) return "k";
    if (policy.startsWith("quorum.percent")) return "percent";
    if (policy.startsWith("quorum")) return "quorum";
    return overrides.includes(policy as Override) ? `overrides.${policy}` : policy === "preset" ? "preset" : null;
  }
  const step = /^dialogue\[(\d+)\]/.exec(p);
  if (step) return `dialogue.${step[1]}.text`;
  if (path.startsWith("check.name")) return "record_name";
  if (p.startsWith("headers") || p.startsWith("metadata")) return "headers";
  if (p.startsWith("auth")) return p.includes("bearer") ? "token" : p.includes("username") ? "username" : "password";
  if (p.startsWith("tls"))
    return p.endsWith("server_name") ? "server_name" : p.endsWith("min_days_left") ? "min_days_left" : "verify";
  if (path.startsWith("locations")) return "listed";
  if (path.startsWith("labels")) return "labels";
  if (path.startsWith("channels")) return "channels";
  if (path === "escalation") return "escalation";
  if (path.startsWith("certificate_days")) return "certificate_days";
  if (path.startsWith("depends_on")) return "depends_on";
  if (p === "kind") return "kind";
  const names: Record<string, string> = {
    follow_redirects: "follow",
    max_body: "max_body_kib",
    type: "record_type",
  };
  const known = [
    "name",
    "group",
    "url",
    "method",
    "body",
    "max_redirects",
    "http_version",
    "proxy",
    "ip_family",
    "dialogue",
    "starttls",
    "ehlo_name",
    "subprotocol",
    "send",
    "expect",
    "server",
    "transport",
    "count",
    "size",
    "service",
    "period_s",
    "cron",
    "zone",
    "grace_s",
    "max_run_s",
    "interval_s",
    "timeout_s",
    "slow_ms",
    "runbook_url",
    "fleet",
  ];
  return names[p] ?? (known.includes(p) ? p : null);
}
