/** What the form of a fleet holds, and how it becomes what the API takes. */

import type { Schemas } from "../../api/client";

type Fleet = Schemas["Fleet"];
type NamedInstance = Schemas["FleetNamedInstance"];

type Kind = Schemas["FindingBrief"]["kind"];

/** From which severity on findings become incidents. */
export const severities = [
  { value: "critical", label: "Critical ones" },
  { value: "warning", label: "Warnings and worse" },
  { value: "info", label: "All of them" },
  { value: "never", label: "None" },
];

/** Kinds of findings, the gravest first. */
export const kinds: readonly Kind[] = [
  "few_ready",
  "black_hole",
  "errors",
  "contradiction",
  "latency",
  "blank",
  "code_mix",
  "left_rotation",
  "slow_removal",
  "flapping",
  "restart",
  "zombie",
  "stale_version",
  "returned_together",
  "no_data",
];

/** Number fields are empty text when nothing is set. */
export interface Draft {
  name: string;
  expected: number | "";
  min_ready: number | "";
  platform: string;
  /** In percent. */
  floor: number | "";
  check_path: string;
  interval_s: number | "";
  timeout_s: number | "";
  unhealthy: number | "";
  healthy: number | "";
  drain_s: number | "";
  warm_up_s: number | "";
  lateness_s: number | "";
  few_critical_s: number | "";
  few_warning_s: number | "";
  probe_paths: string;
  instances: string;
  min_severity: string;
  removal_s: number | "";
  restarts_per_h: number | "";
  channels: string[];
  settle_s: number | "";
  flap_from: number | "";
  flap_until: number | "";
  flap_window_min: number | "";
  /** Exceptions by kind; empty where there is none. */
  kinds: Record<Kind, string>;
}

export function draftOf(fleet?: Fleet): Draft {
  const check = fleet?.check;
  return {
    name: fleet?.name ?? "",
    expected: fleet?.expected ?? "",
    min_ready: fleet?.min_ready ?? "",
    platform: fleet?.platform?.kind ?? "",
    floor: fleet?.platform?.floor == null ? "" : Number((fleet.platform.floor * 100).toFixed(2)),
    check_path: check?.path ?? "",
    interval_s: check?.interval_s ?? "",
    timeout_s: check?.timeout_s ?? "",
    unhealthy: check?.unhealthy ?? "",
    healthy: check?.healthy ?? "",
    drain_s: fleet?.drain_s ?? 30,
    warm_up_s: fleet?.warm_up_s ?? 120,
    lateness_s: fleet?.lateness_s ?? 10,
    few_critical_s: fleet?.few_ready.critical_s ?? 30,
    few_warning_s: fleet?.few_ready.warning_s ?? 600,
    probe_paths: (fleet?.probe_paths ?? []).join("\n"),
    instances: writeInstances(fleet?.instances ?? []),
    min_severity: fleet?.rules.min_severity ?? "warning",
    removal_s: fleet?.rules.removal_s ?? "",
    restarts_per_h: fleet?.rules.restarts_per_h ?? "",
    channels: fleet?.rules.channels ?? [],
    settle_s: fleet?.settle_s ?? 900,
    flap_from: fleet?.flap.from ?? 6,
    flap_until: fleet?.flap.until ?? 1,
    flap_window_min: (fleet?.flap.window_s ?? 1800) / 60,
    kinds: Object.fromEntries(kinds.map((kind) => [kind, fleet?.rules.kinds?.[kind] ?? ""])) as Draft["kinds"],
  };
}

const number = (value: number | "") => (value === "" ? null : value);

/** The request; what is empty is sent as null, so that it can be taken back as well. */
export function bodyOf(draft: Draft) {
  const given = [draft.interval_s, draft.timeout_s, draft.unhealthy, draft.healthy, draft.check_path.trim()];
  const check = given.every((value) => value === "")
    ? null
    : {
        path: draft.check_path.trim() === "" ? null : draft.check_path.trim(),
        interval_s: draft.interval_s === "" ? 10 : draft.interval_s,
        timeout_s: draft.timeout_s === "" ? 1 : draft.timeout_s,
        unhealthy: draft.unhealthy === "" ? 3 : draft.unhealthy,
        healthy: draft.healthy === "" ? 1 : draft.healthy,
      };
  return {
    name: draft.name,
    expected: number(draft.expected),
    min_ready: number(draft.min_ready),
    platform:
      draft.platform === "" ? null : { kind: draft.platform, floor: draft.floor === "" ? null : draft.floor / 100 },
    check,
    drain_s: number(draft.drain_s) ?? 30,
    warm_up_s: number(draft.warm_up_s) ?? 120,
    settle_s: number(draft.settle_s) ?? 900,
    flap: {
      from: number(draft.flap_from) ?? 6,
      until: number(draft.flap_until) ?? 1,
      window_s: Math.round((number(draft.flap_window_min) ?? 30) * 60),
    },
    lateness_s: number(draft.lateness_s) ?? 10,
    few_ready: {
      critical_s: number(draft.few_critical_s) ?? 30,
      warning_s: number(draft.few_warning_s) ?? 600,
    },
    probe_paths: lines(draft.probe_paths),
    instances: parseInstances(draft.instances) ?? [],
    rules: {
      min_severity: draft.min_severity as Schemas["FleetThreshold"],
      removal_s: number(draft.removal_s),
      restarts_per_h: number(draft.restarts_per_h),
      channels: draft.channels.length === 0 ? null : draft.channels,
      kinds: Object.fromEntries(
        Object.entries(draft.kinds).filter(([, from]) => from !== ""),
      ) as Schemas["FleetRules"]["kinds"],
    },
  };
}

const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** `web-1 10.9.0.11:8080 app/web1 [eu-1a]`, one a line; null when a line cannot be read. */
export function parseInstances(text: string): NamedInstance[] | null {
  const out: NamedInstance[] = [];
  for (const line of lines(text)) {
    const match = /^(\S+)((?:\s+[^\s[\]]+)*)(?:\s+\[([^\]]+)\])?$/.exec(line);
    if (!match?.[1]) return null;
    const addresses = (match[2] ?? "").trim();
    out.push({
      name: match[1],
      addresses: addresses === "" ? [] : addresses.split(/[\s,]+/).filter((a) => a !== ""),
      zone: match[3] ?? null,
    });
  }
  return out;
}

export function writeInstances(instances: readonly NamedInstance[]): string {
  return instances
    .map((i) => [i.name, ...(i.addresses ?? []), ...(i.zone ? [`[${i.zone}]`] : [])].join(" "))
    .join("\n");
}

/** Seconds until an instance is out and back, of a check as typed; null while it is not whole. */
export function timing(draft: Pick<Draft, "interval_s" | "timeout_s" | "unhealthy" | "healthy" | "platform">) {
  const { interval_s: interval, timeout_s: timeout, unhealthy, healthy, platform } = draft;
  if (interval === "" || timeout === "" || unhealthy === "" || healthy === "") return null;
  // This vendor counts one interval more.
  const intervals = unhealthy + (platform === "app_gateway" ? 1 : 0);
  return { minimum: intervals * interval, worst: intervals * interval + timeout, back: healthy * interval };
}
