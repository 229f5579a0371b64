/** Maintenance in words: when it comes, whom it covers, what it does. */

import type { Schemas } from "../api/client";
import { cronWords } from "./cron";
import { duration, list, plural } from "./format";
import { day, epoch, hourMinute } from "./time";
import { ownZone } from "./zones";

type Maintenance = Schemas["Maintenance"];
type Occurrence = Schemas["MaintenanceOccurrence"];

/** A length in its two largest units, without empty parts: `30 min`, `1 h`, `1 h 30 min`. */
export function lasts(seconds: number): string {
  return duration(seconds).replace(/ 00\u00a0\w+$/, "");
}

/** `Monday to Friday at 02:00`, or the expression itself when it has no plain words. */
export function comesWords(cron: string): string {
  return cronWords(cron) ?? cron.trim();
}

/** `Monday to Friday at 02:00, 30 min`, with the zone when it is not the viewer's; `Tue 17 Nov 02:00–04:00` of what comes once. */
export function whenWords(one: Maintenance, now: number): string {
  if (one.cron) {
    const zone = one.timezone === ownZone() ? "" : ` in ${one.timezone}`;
    return `${comesWords(one.cron)}${zone}, ${lasts(one.duration_s ?? 0)}`;
  }
  const [start, end] = [epoch(one.start), epoch(one.end)];
  return start === null || end === null ? "" : spanWords(start, end, now);
}

/** `Tue 17 Nov 02:00–04:00`, with the second day when it is another one. */
export function spanWords(start: number, end: number, now: number, zone?: string): string {
  const first = day(start, now, zone);
  const last = day(end, now, zone);
  const until = first === last ? hourMinute(end, zone) : `${last} ${hourMinute(end, zone)}`;
  return `${first} ${hourMinute(start, zone)}–${until}`;
}

/** Names of what is known by id; ids of what is not. */
export interface Names {
  monitors: ReadonlyMap<string, string>;
  fleets: ReadonlyMap<string, string>;
  locations: ReadonlyMap<string, string>;
}

/** Up to three by name; more, or one that is not known by name, as how many there are. */
function few(ids: readonly string[] | null | undefined, known: ReadonlyMap<string, string>, one: string): string {
  const names = (ids ?? []).map((id) => known.get(id));
  const told = names.filter((name) => name !== undefined);
  return told.length === names.length && told.length <= 3 ? list(told) : plural(names.length, one);
}

/** `group shop, 14 monitors`, `everything`, `reports, only what syd saw`. */
export function scopeWords(one: Maintenance, names: Names): string {
  const groups = one.groups ?? [];
  const labels = Object.entries(one.labels ?? {}).map(([name, value]) => `${name}=${value}`);
  const counted = (groups.length > 0 || labels.length > 0) && one.covers != null;
  const fleets = few(one.fleets, names.fleets, "fleet");
  const parts = [
    few(one.monitors, names.monitors, "monitor"),
    groups.length > 0 ? `${groups.length === 1 ? "group" : "groups"} ${list(groups)}` : "",
    list(labels),
    fleets && (one.fleets?.length === 1 ? `fleet ${fleets}` : fleets),
    counted ? plural(one.covers ?? 0, "monitor") : "",
  ];
  const words = one.monitors == null ? "everything" : parts.filter((part) => part !== "").join(", ");
  const seen = few(one.locations, names.locations, "location");
  return seen === "" ? words : `${words}, only what ${seen} saw`;
}

/** The page's sentence: what is silent now and until when, and what is next. */
export function maintenanceSentence(occurrences: readonly Occurrence[], now: number): string {
  const running = occurrences.filter((o) => o.phase === "running" && o.kind === "planned");
  const next = occurrences.find((o) => o.phase === "planned");
  const ahead = next ? `${next.name}, ${day(next.start, now)} ${hourMinute(next.start)}` : null;
  if (running.length === 0) return ahead ? `Nothing is in maintenance. Next: ${ahead}.` : "None planned.";
  const silent = running.filter((o) => o.suppress_alerts);
  const told = silent.length > 0 ? silent : running;
  const said = [...new Set(told.map((o) => o.name))];
  const until = Math.max(...told.map((o) => epoch(o.end) ?? now));
  const at = day(until, now) === day(now, now) ? hourMinute(until) : `${day(until, now)} ${hourMinute(until)}`;
  const names = said.length > 3 ? plural(said.length, "window") : list(said);
  const many = said.length > 1;
  const doing =
    silent.length > 0
      ? `${many ? "keep" : "keeps"} alerts silent`
      : `${many ? "are" : "is"} in maintenance, with alerts,`;
  return `${names} ${doing} until ${at}.${ahead ? ` Next: ${ahead}.` : ""}`;
}
