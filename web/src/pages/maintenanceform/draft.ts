/** What the form of maintenance holds, and how it becomes what the API takes. */

import type { Schemas } from "../../api/client";
import { zoneOffset } from "../../lib/axis";
import { parseLabels, writeLabels } from "../../lib/labels";
import { epoch } from "../../lib/time";
import { choiceOf, cronOf, type Repeat } from "./repeat";

type Maintenance = Schemas["Maintenance"];
type NewMaintenance = Schemas["NewMaintenance"];

export interface Draft {
  /** `planned correction` */
  kind: string;
  name: string;
  reason: string;
  /** `once` or how it comes again. */
  repeat: "once" | Repeat;
  /** `2026-11-17T02:00`, on the clocks of the zone. */
  start: string;
  end: string;
  timezone: string;
  /** `02:00` */
  time: string;
  /** Days of the week, Sunday "0". */
  weekdays: string[];
  day: number | "";
  cron: string;
  /** In minutes. */
  duration_min: number | "";
  /** A date after which nothing comes, or empty. */
  until: string;
  paused: boolean;
  /** `everything` or `some` */
  covers: string;
  monitors: string[];
  groups: string[];
  labels: string;
  fleets: string[];
  locations: string[];
  suppress_alerts: boolean;
  exclude_from_slo: boolean;
  pause_probes: boolean;
}

/** What the fields are called where drafts are compared. */
export const words: { readonly [K in keyof Draft]?: string } = {
  name: "Name",
  reason: "Reason",
  repeat: "Comes",
  start: "From",
  end: "To",
  timezone: "Time zone",
  time: "At",
  weekdays: "Days",
  day: "Day of the month",
  cron: "Cron expression",
  duration_min: "Lasts, min",
  until: "Last day",
  paused: "Paused",
  covers: "Covers",
  monitors: "Monitors",
  fleets: "Fleets",
  locations: "Only what these see",
  groups: "Groups",
  labels: "Labels",
  suppress_alerts: "Alerts are silent",
  exclude_from_slo: "Left out of SLOs",
  pause_probes: "Probes pause",
};

/** An instant as a field for date and time holds it, on the clocks of a zone. */
export function fieldOfInstant(at: number, zone: string): string {
  return new Date((at + zoneOffset(at, zone)) * 1000).toISOString().slice(0, 16);
}

/** The instant of such a field; a time that clocks leave out is the one as far behind the gap. */
export function instantOfField(text: string, zone: string): string | null {
  const wall = /^\d{4,}-\d\d-\d\dT\d\d:\d\d/.test(text) ? Date.parse(`${text.slice(0, 16)}:00Z`) / 1000 : Number.NaN;
  if (Number.isNaN(wall)) return null;
  const [first, second] = [-86_400, 86_400].map((shift) => wall - zoneOffset(wall + shift, zone)) as [number, number];
  const fits = (at: number) => at + zoneOffset(at, zone) === wall;
  return new Date((fits(first) || !fits(second) ? first : second) * 1000).toISOString();
}

/** Tonight at two for half an hour, or the last full hour for what is entered afterwards. */
export function emptyDraft(zone: string, now: number, correction: boolean): Draft {
  const hour = Math.floor(now / 3600) * 3600;
  const [start, end] = correction ? [hour - 3600, hour] : [hour + 3600, hour + 7200];
  return {
    kind: correction ? "correction" : "planned",
    name: "",
    reason: "",
    repeat: "once",
    start: fieldOfInstant(start, zone),
    end: fieldOfInstant(end, zone),
    timezone: zone,
    time: "02:00",
    weekdays: ["1", "2", "3", "4", "5"],
    day: 1,
    cron: "0 2 * * *",
    duration_min: 30,
    until: "",
    paused: false,
    covers: "some",
    monitors: [],
    groups: [],
    labels: "",
    fleets: [],
    locations: [],
    suppress_alerts: true,
    exclude_from_slo: true,
    pause_probes: false,
  };
}

export function draftOf(one: Maintenance, zone: string, now: number): Draft {
  const timezone = one.timezone ?? zone;
  const [start, end] = [epoch(one.start), epoch(one.end)];
  const choice = one.cron ? choiceOf(one.cron) : null;
  const fresh = emptyDraft(zone, now, one.kind === "correction");
  return {
    ...fresh,
    kind: one.kind,
    name: one.name,
    reason: one.reason,
    repeat: choice?.repeat ?? "once",
    start: start === null ? fresh.start : fieldOfInstant(start, timezone),
    end: end === null ? fresh.end : fieldOfInstant(end, timezone),
    timezone,
    time: choice?.time ?? fresh.time,
    weekdays: choice ? choice.weekdays.map(String) : fresh.weekdays,
    day: choice?.day ?? 1,
    cron: one.cron ?? fresh.cron,
    duration_min: one.duration_s == null ? 30 : Number((one.duration_s / 60).toFixed(4)),
    until: one.until ? fieldOfInstant((epoch(one.until) ?? 0) - 1, timezone).slice(0, 10) : "",
    paused: one.paused,
    covers: one.monitors == null ? "everything" : "some",
    monitors: one.monitors ?? [],
    groups: one.groups ?? [],
    labels: writeLabels(one.labels ?? {}),
    fleets: one.fleets ?? [],
    locations: one.locations ?? [],
    suppress_alerts: one.suppress_alerts,
    exclude_from_slo: one.exclude_from_slo,
    pause_probes: one.pause_probes,
  };
}

/** The expression that the form stands for. */
export function cronOfDraft(d: Draft): string {
  if (d.repeat === "once") return "";
  return cronOf({
    repeat: d.repeat,
    time: d.time,
    weekdays: d.weekdays.map(Number),
    day: d.day === "" ? 1 : d.day,
    cron: d.cron,
  });
}

/** The midnight after the last day that is meant. */
export function untilOf(d: Draft): string | null {
  if (d.until === "") return null;
  const next = new Date(Date.parse(`${d.until}T00:00:00Z`) + 86_400_000);
  return Number.isNaN(next.getTime()) ? null : instantOfField(next.toISOString().slice(0, 16), d.timezone);
}

const some = <T>(all: readonly T[]): T[] | null => (all.length > 0 ? [...all] : null);

/** The body of a request. What does not apply is null, which in a change takes it away. */
export function bodyOf(d: Draft): NewMaintenance {
  const again = d.repeat !== "once";
  const correction = d.kind === "correction";
  const everything = d.covers === "everything";
  const labels = parseLabels(d.labels) ?? {};
  const locations = some(d.locations);
  const choice = !correction && locations === null;
  return {
    name: d.name.trim(),
    kind: correction ? "correction" : "planned",
    reason: d.reason.trim(),
    start: again ? null : instantOfField(d.start, d.timezone),
    end: again ? null : instantOfField(d.end, d.timezone),
    cron: again ? cronOfDraft(d) : null,
    timezone: again ? d.timezone : null,
    duration_s: again ? (d.duration_min === "" ? null : Math.round(d.duration_min * 60)) : null,
    until: again ? untilOf(d) : null,
    paused: again ? d.paused : null,
    monitors: everything ? null : some(d.monitors),
    groups: everything ? null : some(d.groups),
    labels: everything || Object.keys(labels).length === 0 ? null : labels,
    fleets: everything ? null : some(d.fleets),
    locations,
    suppress_alerts: choice ? d.suppress_alerts : null,
    exclude_from_slo: choice ? d.exclude_from_slo : null,
    pause_probes: choice ? d.pause_probes : null,
  };
}

/** The form's field for the API's; null when the form has none. */
export function fieldOf(field: string, d: Pick<Draft, "repeat">): string | null {
  const list = /^(monitors|groups|labels|fleets|locations)\b/.exec(field);
  if (list) return list[1] ?? null;
  if (field === "cron")
    return { weekly: "weekdays", monthly: "day", daily: "time", cron: "cron", once: null }[d.repeat];
  if (field === "duration_s") return "duration_min";
  const same = [
    "name",
    "reason",
    "start",
    "end",
    "timezone",
    "until",
    "suppress_alerts",
    "exclude_from_slo",
    "pause_probes",
  ];
  return same.includes(field) ? field : null;
}
