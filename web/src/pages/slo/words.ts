/** What a report says, in sentences. */

import type { Schemas } from "../../api/client";
import { NBSP } from "../../lib/format";
import { amount, lasting, leftShare, pct } from "../../lib/slos";
import { day, epoch, hourMinute } from "../../lib/time";

type Report = Schemas["SloReport"];

/** What a budget is counted in. */
export function unitOf(report: Pick<Report, "budget">): "ms" | "events" {
  return report.budget.total_ms == null && report.budget.remaining_ms == null && report.budget.total != null
    ? "events"
    : "ms";
}

export function leftOf(report: Pick<Report, "budget">): number | null {
  return report.budget.remaining_ms ?? report.budget.remaining ?? null;
}

export function totalOf(report: Pick<Report, "budget">): number | null {
  return report.budget.total_ms ?? report.budget.total ?? null;
}

/** What is needed to name a window. */
export interface Spanned {
  slo: { window: Report["slo"]["window"] };
  window: { start: string };
}

/** The window by its name: `November`, `week of 16 Nov`, `last 30 days`. */
export function periodWord(report: Spanned, now: number): string {
  const { kind, duration, timezone } = report.slo.window;
  const start = epoch(report.window.start) ?? 0;
  if (kind === "rolling") {
    const days = /^(\d+)d$/.exec(duration ?? "")?.[1];
    if (days === "1") return "last day";
    return days ? `last ${days}${NBSP}days` : "window";
  }
  const format = (options: Intl.DateTimeFormatOptions, at = start) =>
    new Intl.DateTimeFormat("en-GB", { ...options, timeZone: timezone }).format(new Date(at * 1000));
  const year = format({ year: "numeric" });
  const other = year !== format({ year: "numeric" }, now) ? ` ${year}` : "";
  if (kind === "calendar" && duration === "1M") return format({ month: "long" }) + other;
  if (kind === "calendar" && duration === "1Y") return year;
  if (kind === "calendar" && duration === "1Q") return `quarter from ${format({ month: "long" })}${other}`;
  if (kind === "calendar" && duration === "1d") return day(start, now, timezone);
  return `span from ${format({ day: "numeric", month: "short" })}${other}`;
}

/** `of November`, `of the last 30 days` */
const ofPeriod = (word: string) => (/^(last|span|quarter|window)/.test(word) ? `of the ${word}` : `of ${word}`);

/** The sentence: what is left, and until when it lasts if nothing gets better. */
export function sentence(report: Report, name: string, now: number): string {
  const period = ofPeriod(periodWord(report, now));
  const left = leftOf(report);
  const unit = unitOf(report);
  const zone = report.slo.window.timezone;
  if (report.state === "no_data") {
    const least = `${Math.floor(report.slo.coverage_min * 1000 + 1e-7) / 10}${NBSP}%`;
    return report.coverage.pct == null
      ? "Nothing was measured yet: insufficient data, which is no pass."
      : `Insufficient data: ${pct(report.coverage.pct)} of the time is known, at least ${least} are needed.`;
  }
  if (left === null) return "Nothing can be said of the budget.";
  if (report.window.complete)
    return report.availability.met
      ? `The objective ${period} was met, with ${amount(left, unit)} of budget left.`
      : `The objective ${period} was missed: the budget is overspent by ${amount(-left, unit)}.`;
  if (left < 0) return `The budget ${period} is overspent by ${amount(-left, unit)}.`;
  if (report.state === "exhausted") return `The budget ${period} is used up; anything more, and it is missed.`;
  const said = `${leftShare(report.budget.remaining_ratio)} of the budget ${period} is left.`;
  const gone = epoch(report.budget.exhausts_at_if_down);
  if (!report.outages.list.some((outage) => outage.ongoing) || gone === null) return said;
  const at = day(gone, now, zone) === day(now, now, zone) ? "" : `${day(gone, now, zone)} `;
  return `${said} It is gone at ${at}${hourMinute(gone, zone)} if ${name} stays down.`;
}

/** How it stands to date, and between which bounds the unknown time leaves it. */
export function standing(report: Report): string {
  const { availability, time_ms, slo, window } = report;
  if (availability.pct == null) return "";
  const target = pct(slo.target_pct);
  const parts: string[] = [];
  if (!window.complete && slo.window.kind !== "rolling") {
    const ahead = availability.attainment_to_date === true;
    const later = report.state === "breached" ? "" : ", which the rest may still make good";
    parts.push(`To date ${pct(availability.pct)} of ${target}: ${ahead ? "met" : `below${later}`}.`);
  } else parts.push(`${pct(availability.pct)} of ${target}.`);
  if (time_ms.unknown > 0 && availability.worst_pct && availability.best_pct)
    parts.push(
      `With the ${lasting(time_ms.unknown)} of which nothing is known it lies between ${pct(availability.worst_pct)} and ${pct(availability.best_pct)}.`,
    );
  const unwatched = time_ms.not_monitored + time_ms.paused;
  if (unwatched > 0)
    parts.push(`${lasting(unwatched)} of the window it was not watched: that is no part of any figure.`);
  return parts.join(" ");
}

/** A burn rate or a factor, cut off: 14.39997 must not read as the 14.4 that it did not reach. */
export function times(rate: number | null | undefined): string {
  if (rate === null || rate === undefined || !Number.isFinite(rate)) return "–";
  const decimals = rate >= 100 ? 0 : rate >= 10 ? 2 : 3;
  const step = 10 ** decimals;
  const cut = Math.floor(rate * step + 1e-7) / step;
  return cut.toLocaleString("en-GB", { maximumFractionDigits: decimals });
}

/** `5m` as `5 min`, `1h` as `1 h`. */
export function lookbackWord(text: string): string {
  return text.replace(/^(\d+)(ms|[smhd])$/, (_all, n, unit) => `${n}${NBSP}${unit === "m" ? "min" : unit}`);
}

/** The JSON pointer of a difference as words: `/budget/remaining_ms` is `budget, remaining ms`. */
export function pathWords(path: string): string {
  return path
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~").replaceAll("_", " "))
    .join(", ");
}
