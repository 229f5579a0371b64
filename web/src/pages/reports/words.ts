/** What schedules and reports say, in sentences. */

import type { Schemas } from "../../api/client";
import { cronWords } from "../../lib/cron";
import { list, NBSP, plural } from "../../lib/format";
import { sloMark, sloWord } from "../../lib/slos";
import { day, dayMinute, zoneLabel } from "../../lib/time";
import { periodWord } from "../slo/words";

type Schedule = Schemas["ReportSchedule"];
type Made = Schemas["MadeReport"];

/** When it comes: in words, or the expression itself. */
export function cronText(cron: string): string {
  return cronWords(cron) ?? `by ${cron}`;
}

/** A mark of the visual language and its word. */
export interface Said {
  mark: string;
  word: string;
}

/** How the delivery of one report went. */
export function deliverySaid(outcome: string | null | undefined): Said {
  if (outcome === "delivered") return { mark: "up", word: "Accepted" };
  if (outcome === "failed") return { mark: "down", word: "Refused" };
  if (outcome === "dropped") return { mark: "paused", word: "Dropped" };
  return { mark: "pending", word: "Being tried" };
}

/** How the delivery of everything went that a schedule made at one time. */
export function lastSaid(last: Schemas["LastReports"] | null | undefined): Said {
  if (!last) return { mark: "pending", word: "Never sent" };
  const { reports, delivered, failed } = last;
  const some = (n: number) => (reports > 1 ? ` ${n} of ${reports}` : "");
  if (failed > 0) return { mark: "down", word: failed === reports ? "Refused" : `Refused${some(failed)}` };
  if (delivered === reports) return { mark: "up", word: "Accepted" };
  return { mark: "pending", word: `Being tried${some(reports - delivered)}` };
}

/** Whether the objective was met; of a window that runs, how it stands. */
export function verdictSaid(made: Pick<Made, "met" | "state">): Said {
  if (made.met === true) return { mark: "up", word: "Met" };
  if (made.met === false) return { mark: "down", word: "Missed" };
  return { mark: sloMark(made.state), word: sloWord(made.state) };
}

/** The window by its name, in its own zone; of a rolling one up to when: `30 days to Tue 17 Nov`. */
export function periodOf(made: Pick<Made, "window" | "window_start" | "window_end">, now: number): string {
  const window = made.window ?? { kind: "fixed", timezone: "UTC" };
  const period = periodWord({ slo: { window }, window: { start: made.window_start } }, now);
  if (window.kind !== "rolling") return period;
  const span = period === "last day" ? `1${NBSP}day` : period.replace("last ", "");
  return `${span} to ${day(made.window_end, now)}`;
}

/** `Wed 4 Nov 08:00 CET`, in the zone that the schedule is read in. */
export function dueWords(schedule: Pick<Schedule, "timezone">, at: string, now: number): string {
  const zone = zoneLabel(at, schedule.timezone).split(",")[0];
  return `${dayMinute(at, now, schedule.timezone)} ${zone}`;
}

/** One sentence over the page: what was refused, or what comes next. */
export function reportsSentence(schedules: readonly Schedule[], now: number): string {
  if (schedules.length === 0) return "No report is sent by itself.";
  const refused = schedules.filter((one) => (one.last?.failed ?? 0) > 0);
  if (refused.length > 0) {
    const names = refused.length > 3 ? plural(refused.length, "schedule") : list(refused.map((one) => one.name));
    return `Not everything arrived of what ${names} sent last.`;
  }
  const [next] = schedules
    .filter((one) => one.upcoming.length > 0)
    .sort((a, b) => (a.upcoming[0] ?? "").localeCompare(b.upcoming[0] ?? ""));
  if (!next?.upcoming[0]) return "Every schedule is switched off: no report is sent by itself.";
  return `Next: ${next.name}, ${dueWords(next, next.upcoming[0], now)}.`;
}

/** Who gets it, as far as the channel says. */
export function recipients(channel: Schemas["Channel"]): string {
  const config = channel.config as { to?: string[]; url?: string };
  if (config.to)
    return config.to.length > 2 ? `${config.to[0]} and ${config.to.length - 1} more` : config.to.join(", ");
  return channel.kind === "webhook" ? "webhook" : channel.kind;
}
