import type { Schemas } from "../../api/client";
import { type Assertion, fromApi, type Line, toApi } from "../../lib/assertions";
import { parseLabels, writeLabels } from "../../lib/labels";

type Policy = Schemas["PolicySpec"];

/** The form, as people fill it in. Empty numbers mean "the default". */
export interface Values {
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
  ip_family: string;
  max_body_kib: number | "";
  assertions: Line[];
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
  ip_family: "any",
  max_body_kib: "",
  assertions: [{ on: "status", arg: "", op: "in", value: "2xx" }],
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
  labels: "",
  runbook_url: "",
  fleet: "",
  depends_on: [],
  rest: {},
};

/** Whether something that was pasted is several addresses, one a line. */
export function addressesOf(text: string): string[] {
  return text
    .split(/\s+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** An address as it was typed, with the scheme that people leave out. */
export function completeUrl(text: string): string {
  const t = text.trim();
  return t === "" || /^[a-z][a-z0-9+.-]*:\/\//i.test(t) ? t : `https://${t}`;
}

/** A name to propose: host and path, without what says nothing. */
export function nameFor(url: string): string {
  try {
    const { hostname, pathname } = new URL(completeUrl(url));
    const path = pathname.replace(/\/+$/, "");
    return path === "" ? hostname : `${hostname}${path}`;
  } catch {
    return "";
  }
}

/** The check object of the form; what is left out, the server fills in. */
export function checkOf(v: Values): Schemas["Check"] {
  const check: Record<string, unknown> = { ...v.rest, kind: "http", url: completeUrl(v.url), method: v.method };
  const headers = v.headers.filter((h) => h.name.trim() !== "");
  if (headers.length > 0) check.headers = headersOf(headers);
  if (v.body !== "") check.body = v.body;
  if (v.auth === "basic") check.auth = { basic: { username: v.username, password: v.password } };
  if (v.auth === "bearer") check.auth = { bearer: v.token };
  if (!v.follow) check.follow_redirects = false;
  if (v.max_redirects !== "") check.max_redirects = v.max_redirects;
  if (v.http_version !== "auto") check.http_version = v.http_version;
  if (v.proxy.trim() !== "") check.proxy = v.proxy.trim();
  const tls = {
    ...(check.tls as object | undefined),
    ...(v.verify ? {} : { verify: false }),
    ...(v.server_name.trim() === "" ? {} : { server_name: v.server_name.trim() }),
    ...(v.min_days_left === "" ? {} : { min_days_left: v.min_days_left }),
  };
  if (Object.keys(tls).length > 0) check.tls = tls;
  if (v.ip_family !== "any") check.ip_family = v.ip_family;
  if (v.max_body_kib !== "") check.max_body = v.max_body_kib * 1024;
  const assertions = v.assertions.map(toApi);
  if (assertions.length > 0) check.assertions = assertions;
  return check as Schemas["Check"];
}

/** `{"name": "value"}`, or a list for a name that stands more than once. */
function headersOf(headers: Values["headers"]): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {};
  for (const { name, value } of headers) {
    const key = name.trim();
    const before = out[key];
    out[key] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  return out;
}

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

/** The whole form as a new monitor, or as the change of one. */
export function bodyOf(v: Values): Schemas["NewMonitor"] {
  return {
    name: v.name.trim(),
    group: v.group.trim(),
    check: checkOf(v),
    ...(v.interval_s === "" ? {} : { interval_s: v.interval_s }),
    ...(v.timeout_s === "" ? {} : { timeout_s: v.timeout_s }),
    slow_ms: orNull(v.slow_ms),
    locations: locationsOf(v),
    policy: policyOf(v),
    labels: parseLabels(v.labels) ?? {},
    channels: v.told === "listed" ? v.channels : null,
    escalation: v.told === "escalation" ? orNull(v.escalation) : null,
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
  delete check.kind;
  const auth = take<{ basic?: { username: string; password: string }; bearer?: string }>("auth", {});
  const tls = take<Record<string, unknown>>("tls", {});
  const { verify, server_name, min_days_left, ...otherTls } = tls;
  const maxBody = take<number | "">("max_body", "");
  const values: Values = {
    ...fresh,
    name: m.name,
    group: m.group,
    url: take("url", ""),
    method: take("method", "GET"),
    headers: Object.entries(take<Record<string, string | string[]>>("headers", {})).flatMap(([name, value]) =>
      [value].flat().map((v) => ({ name, value: v })),
    ),
    body: take("body", ""),
    auth: auth.basic ? "basic" : auth.bearer !== undefined ? "bearer" : "none",
    username: auth.basic?.username ?? "",
    password: auth.basic?.password ?? "",
    token: auth.bearer ?? "",
    follow: take("follow_redirects", true),
    max_redirects: take<number | "">("max_redirects", ""),
    http_version: take("http_version", "auto"),
    proxy: take("proxy", ""),
    verify: verify !== false,
    server_name: (server_name as string | undefined) ?? "",
    min_days_left: (min_days_left as number | undefined) ?? "",
    ip_family: take("ip_family", "any"),
    max_body_kib: maxBody === "" ? "" : Math.round(maxBody / 1024),
    assertions: take<Assertion[]>("assertions", []).map(fromApi),
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
    labels: writeLabels(m.labels),
    runbook_url: m.runbook_url ?? "",
    fleet: m.fleet ?? "",
    depends_on: m.depends_on,
    rest: {},
  };
  if (Array.isArray(m.locations)) Object.assign(values, { from: "listed", listed: m.locations });
  else if (typeof m.locations === "object")
    Object.assign(values, { from: "labelled", location_labels: writeLabels(m.locations.labels) });
  values.rest = Object.keys(otherTls).length > 0 ? { ...check, tls: otherTls } : check;
  return values;
}

/** The form's field for a field of the API, or null when the form has none. */
export function fieldOf(path: string): string | null {
  const p = path.replace(/^check\./, "");
  const condition = /^assertions\[(\d+)\](?:\.(\w+))?/.exec(p);
  if (condition) {
    const part = { on: "on", op: "op", value: "value", name: "arg", path: "arg" }[condition[2] ?? "value"] ?? "value";
    return `assertions.${condition[1]}.${part}`;
  }
  const policy = /^policy\.(.+)$/.exec(path)?.[1];
  if (policy) {
    if (policy.startsWith("quorum.k")) return "k";
    if (policy.startsWith("quorum.percent")) return "percent";
    if (policy.startsWith("quorum")) return "quorum";
    return overrides.includes(policy as Override) ? `overrides.${policy}` : policy === "preset" ? "preset" : null;
  }
  if (p.startsWith("headers")) return "headers";
  if (p.startsWith("auth")) return p.includes("bearer") ? "token" : p.includes("username") ? "username" : "password";
  if (p.startsWith("tls"))
    return p.endsWith("server_name") ? "server_name" : p.endsWith("min_days_left") ? "min_days_left" : "verify";
  if (path.startsWith("locations")) return "listed";
  if (path.startsWith("labels")) return "labels";
  if (path.startsWith("channels")) return "channels";
  if (path === "escalation") return "escalation";
  if (path.startsWith("depends_on")) return "depends_on";
  const names: Record<string, string> = { follow_redirects: "follow", max_body: "max_body_kib" };
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
    "interval_s",
    "timeout_s",
    "slow_ms",
    "runbook_url",
    "fleet",
  ];
  return names[p] ?? (known.includes(p) ? p : null);
}
