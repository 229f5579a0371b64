/**
 * Instants in the viewer's zone. The zone is named once per view (`zoneLabel`); UTC stands in titles
 * and copies. Below a day instants are relative, then dates with their weekday.
 */

import { duration, NONE } from "./format";

type Instant = string | number | Date;

const parts = (options: Intl.DateTimeFormatOptions, zone?: string) =>
  new Intl.DateTimeFormat("en-GB", zone ? { ...options, timeZone: zone } : options);

/** Seconds since 1970 of an instant as the API writes it, or null. */
export function epoch(at: Instant | null | undefined): number | null {
  if (at === null || at === undefined) return null;
  const ms = at instanceof Date ? at.getTime() : typeof at === "number" ? at * 1000 : Date.parse(at);
  return Number.isNaN(ms) ? null : ms / 1000;
}

const date = (at: Instant) => (typeof at === "number" ? new Date(at * 1000) : new Date(at));

/** `03:07:24` */
export function clock(at: Instant, zone?: string): string {
  return parts({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }, zone).format(date(at));
}

/** `03:07` */
export function hourMinute(at: Instant, zone?: string): string {
  return parts({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" }, zone).format(date(at));
}

/** `Tue 17 Nov`, with the year when it is another one. */
export function day(at: Instant, now: Instant = Date.now() / 1000, zone?: string): string {
  const year = parts({ year: "numeric" }, zone);
  const text = parts({ weekday: "short", day: "numeric", month: "short" }, zone).format(date(at)).replace(",", "");
  return year.format(date(at)) === year.format(date(now)) ? text : `${text} ${year.format(date(at))}`;
}

/** `Tuesday 17 November`, for headings. */
export function longDay(at: Instant, zone?: string): string {
  return parts({ weekday: "long", day: "numeric", month: "long" }, zone).format(date(at)).replace(",", "");
}

/** Today `03:07:24`, on other days `Tue 17 Nov 03:07:24`. */
export function when(at: Instant | null | undefined, now: Instant = Date.now() / 1000, zone?: string): string {
  if (at === null || at === undefined) return NONE;
  const today = day(at, now, zone) === day(now, now, zone);
  return today ? clock(at, zone) : `${day(at, now, zone)} ${clock(at, zone)}`;
}

/** `Tue 17 Nov 03:07`, of today too: for what was planned to the minute. */
export function dayMinute(at: Instant, now: Instant = Date.now() / 1000, zone?: string): string {
  return `${day(at, now, zone)} ${hourMinute(at, zone)}`;
}

/** `4 min ago` below a day, then `Tue 17 Nov 03:07`. */
export function ago(at: Instant | null | undefined, now: Instant = Date.now() / 1000, zone?: string): string {
  const then = epoch(at);
  const today = epoch(now);
  if (at === null || at === undefined || then === null || today === null) return NONE;
  const age = today - then;
  if (age < 1) return "now";
  if (age < 86_400) return `${largest(age)} ago`;
  return dayMinute(at, now, zone);
}

/** The largest unit alone, for "ago". */
function largest(seconds: number): string {
  return duration(
    seconds < 60 ? seconds : seconds < 3600 ? seconds - (seconds % 60) : seconds - (seconds % 3600),
  ).replace(/ 00.*$/, "");
}

/** `2026-11-17 02:07:24 UTC`, for titles and copies. */
export function utc(at: Instant | null | undefined): string {
  if (at === null || at === undefined) return "";
  return `${date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** The viewer's zone, named once per view: `CET, UTC+1`. */
export function zoneLabel(at: Instant = Date.now() / 1000, zone?: string): string {
  const pick = (style: "short" | "shortOffset") =>
    parts({ timeZoneName: style }, zone)
      .formatToParts(date(at))
      .find((p) => p.type === "timeZoneName")?.value ?? "UTC";
  const name = pick("short");
  const shift = pick("shortOffset").replace("GMT", "UTC");
  if (name === "UTC") return name;
  return name.startsWith("GMT") ? shift : `${name}, ${shift}`;
}
