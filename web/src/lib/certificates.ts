/** Certificates in words: how long they last, who is shown them, and what stands out. */

import type { Schemas } from "../api/client";
import { count, NBSP, NONE, plural } from "./format";

export type Shown = Schemas["ShownCertificate"];

/** Which certificates a list is narrowed to, as it stands in the address. */
export const views = [
  ["7", "within 7 days"],
  ["30", "within 30 days"],
  ["invalid", "not valid"],
  ["differing", "differ by location"],
] as const;
export type View = (typeof views)[number][0];

export function viewOf(word: string): View | null {
  return views.find(([known]) => known === word)?.[0] ?? null;
}

/** The question to the API for a view. */
export function viewQuery(view: View | null): { within?: number; invalid?: boolean; differing?: boolean } {
  if (view === "7" || view === "30") return { within: Number(view) };
  if (view === "invalid") return { invalid: true };
  return view === "differing" ? { differing: true } : {};
}

/** By its own habit it should have been renewed already: `10 d late`; null when it has none, or time. */
export function lateWords(one: Pick<Shown, "days_left" | "renewed_days_left">): string | null {
  const habit = one.renewed_days_left;
  if (habit === null || habit === undefined || one.days_left < 0 || one.days_left >= habit) return null;
  return `${count(habit - one.days_left)}${NBSP}d late by its own habit`;
}

/** What its habit says: late, or when it is due; nothing before a renewal was seen. */
export function renewalWords(one: Pick<Shown, "days_left" | "renewed_days_left">): string {
  const habit = one.renewed_days_left;
  if (habit === null || habit === undefined) return NONE;
  if (one.days_left < 0) return "too late";
  return lateWords(one) ?? (one.days_left === habit ? "due today" : `due in ${count(one.days_left - habit)}${NBSP}d`);
}

/** The shape beside the days: what fails or soon will, what is due, what differs; the rest is quiet. */
export function markOfCertificate(
  one: Pick<Shown, "days_left" | "valid" | "certificates" | "renewed_days_left">,
): string {
  if (one.days_left < 0 || !one.valid || one.days_left <= 7) return "down";
  if (one.certificates > 1) return "partial";
  return one.days_left <= 30 || lateWords(one) ? "degraded" : "up";
}

/** `ended 3 d ago`, `less than 1 d`, `12 d`; floored toward sooner. */
export function leftWords(days: number): string {
  if (days < -1) return `ended ${count(-days - 1)}${NBSP}d ago`;
  if (days < 0) return "ended today";
  if (days === 0) return `less than 1${NBSP}d`;
  return `${count(days)}${NBSP}d`;
}

/** `Ended today`: words at the beginning of a cell. */
export function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** `shop.example, www.shop.example and 3 more`; the subject if it is for no name. */
export function namesWords(one: Pick<Shown, "names" | "subject">, most = 2): string {
  if (one.names.length === 0) return one.subject;
  const more = one.names.length - most;
  const shown = one.names.slice(0, most).join(", ");
  return more > 0 ? `${shown} and ${more} more` : shown;
}

/** `3 of 5 locations`, of those that are shown any certificate of the monitor. */
export function seenWords(one: Pick<Shown, "seen_by" | "locations">): string {
  const seen = new Set(one.seen_by.map((by) => by.location.id)).size;
  return `${count(seen)} of ${plural(one.locations, "location")}`;
}

/** Where it is shown, in full: `eu at 192.0.2.7, us`. */
export function placesWords(one: Pick<Shown, "seen_by">): string {
  return one.seen_by.map((by) => (by.address ? `${by.location.name} at ${by.address}` : by.location.name)).join(", ");
}

/** The page's sentence: the worst first. */
export function certificatesSentence(n: Schemas["CertificateCounts"]): string {
  if (n.certificates === 0) return "No certificate is shown yet.";
  const due = n.within_7 > 0 ? n.within_7 : n.within_30;
  const when = `within ${n.within_7 > 0 ? 7 : 30}${NBSP}days`;
  const ended = plural(n.expired, "certificate has", "certificates have");
  let ends = `No certificate ends within 30${NBSP}days.`;
  if (n.expired > 0 && due > 0) ends = `${ended} ended, and ${plural(due, "ends", "end")} ${when}.`;
  else if (n.expired > 0) ends = `${ended} ended.`;
  else if (due > 0) ends = `${plural(due, "certificate ends", "certificates end")} ${when}.`;
  if (n.differing === 0) return ends;
  return `${ends} ${plural(n.differing, "monitor is", "monitors are")} shown different ones in different places.`;
}

/** Where a number of days stands on the axis from 0 to 398 days, 0 to 1; the last days are wider. */
export function along(days: number): number {
  return Math.sqrt(Math.min(Math.max(days, 0), LONGEST) / LONGEST);
}

/** No certificate that the public trusts is good for longer. */
export const LONGEST = 398;

/** Days as somebody types them: `30, 14, 7`; null when it is no such list. */
export function parseDays(text: string): number[] | null {
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  return words.every((word) => /^-?\d{1,9}$/.test(word)) ? words.map(Number) : null;
}

/** `30, 14, 7` */
export function writeDays(days: readonly number[]): string {
  return days.join(", ");
}

/** For a form's field of days. */
export function daysRule(text: string): string | null {
  return parseDays(text) === null ? "Write whole days with commas between, such as 30, 14, 7." : null;
}
