/** How service level objectives are written: states, windows, amounts of budget, what they are about. */

import type { Schemas } from "../api/client";
import { count, duration, list, NBSP, NONE, percent, plural } from "./format";
import type { Mark } from "./states";

type Slo = Schemas["Slo"];

/** The states of an SLO, the one that needs most attention first. */
export const sloStates = ["breached", "exhausted", "burning", "at_risk", "no_data", "ok"] as const;

const marks: Record<string, Mark> = {
  ok: "up",
  at_risk: "slow",
  burning: "down",
  exhausted: "partial",
  breached: "down",
  no_data: "unknown",
};

const words: Record<string, string> = {
  ok: "On track",
  at_risk: "At risk",
  burning: "Burning",
  exhausted: "Used up",
  breached: "Missed",
  no_data: "No data",
};

/** A state that is not known to these pages reads as unknown; none at all as not judged yet. */
export function sloMark(state: string | null | undefined): Mark {
  return state ? (marks[state] ?? "unknown") : "pending";
}

export function sloWord(state: string | null | undefined): string {
  return state ? (words[state] ?? state) : "Not judged yet";
}

/** `99.9 %`, from the API's own text. */
export function pct(text: string | null | undefined): string {
  return text ? `${text}${NBSP}%` : NONE;
}

/** An amount of budget: `23 min 04 s`, `−1.2 s`, `412 events`. What is left is never rounded up. */
export function amount(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  if (unit === "events")
    return value < 0 ? `−${plural(Math.ceil(-value), "event")}` : plural(Math.floor(value), "event");
  return value < 0 ? `−${lasting(-value)}` : lasting(value);
}

/** Milliseconds as a span, with a decimal where whole seconds would hide it. */
export function lasting(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return NONE;
  if (ms === 0) return `0${NBSP}s`;
  if (ms < 1000) return `${count(Math.floor(ms))}${NBSP}ms`;
  if (ms < 60_000 && (ms < 10_000 || ms % 1000 !== 0)) return `${(Math.floor(ms / 100) / 10).toFixed(1)}${NBSP}s`;
  return duration(ms / 1000);
}

/** What is left of the budget as a share of it, with a true minus: `46.5 %`, `−12.0 %`. */
export function leftShare(ratio: number | null | undefined): string {
  return percent(ratio, 1).replace("-", "−");
}

const civil: Record<string, string> = {
  "1d": "calendar day",
  "1w": "calendar week",
  "1M": "calendar month",
  "1Q": "calendar quarter",
  "1Y": "calendar year",
};

/** After "of": `any 30 days`, `a calendar month, Europe/Berlin`. */
export function ofWindow(window: Slo["window"]): string {
  const words = windowWords(window);
  return window.kind === "rolling" ? words : `a ${words}`;
}

/** `any 30 days`, `calendar month, Europe/Berlin` */
export function windowWords(window: Slo["window"], zone = true): string {
  const where = zone ? `, ${window.timezone}` : "";
  if (window.kind === "rolling") {
    const days = /^(\d+)d$/.exec(window.duration ?? "")?.[1];
    return days ? `any ${plural(Number(days), "day")}` : `any ${window.duration ?? "span"}`;
  }
  if (window.kind === "calendar") return (civil[window.duration ?? ""] ?? `calendar, ${window.duration}`) + where;
  return `fixed span${where}`;
}

const indicators: Record<string, string> = {
  availability: "Time up",
  probe_ratio: "Probes that pass",
  latency: "Probes that are quick",
  requests: "Requests that succeed",
};

export function sliWord(sli: string): string {
  return indicators[sli] ?? sli;
}

/** A place that can be gone to. */
export interface About {
  word: string;
  to: string | null;
}

/** What an SLO is about: one monitor, a fleet, or several monitors together. */
export function aboutOf(slo: Pick<Slo, "subject" | "monitor" | "fleet" | "members">): About[] {
  const monitor = (one: { id: string; name: string }) => ({ word: one.name, to: `/monitors/${one.id}` });
  if (slo.subject === "fleet")
    return slo.fleet
      ? [{ word: slo.fleet.name, to: `/fleets/${slo.fleet.id}` }]
      : [{ word: "a deleted fleet", to: null }];
  if (slo.subject === "composite") return slo.members.map(monitor);
  return slo.monitor ? [monitor(slo.monitor)] : [{ word: "a deleted monitor", to: null }];
}

/** One sentence over the list: how many are missed, burning, at risk. */
export function slosSentence(items: readonly Slo[], all: boolean): string {
  if (items.length === 0) return "No SLO yet.";
  const of = (state: string) => items.filter((slo) => slo.now?.state === state);
  const names = (state: string) => {
    const found = of(state).map((slo) => slo.name);
    return found.length > 3 ? plural(found.length, "SLO") : list(found);
  };
  const is = (state: string) => (of(state).length === 1 ? "is" : "are");
  const parts = [
    of("burning").length > 0 && `${names("burning")} ${is("burning")} burning`,
    of("breached").length > 0 && `${names("breached")} ${is("breached")} missed`,
    of("exhausted").length > 0 && `the budget of ${names("exhausted")} is used up`,
    of("at_risk").length > 0 && `${names("at_risk")} ${is("at_risk")} at risk`,
    of("no_data").length > 0 && `of ${names("no_data")} too little is known`,
  ].filter((part): part is string => part !== false);
  if (parts.length > 0) return `${capital(list(parts))}.`;
  const judged = items.filter((slo) => slo.now).length;
  if (judged < items.length) return judged === 0 ? "Not judged yet." : "Those that were judged are on track.";
  return all ? "Every SLO is on track." : "These are on track.";
}

/** A sentence begins with a capital, but a name is written as it is. */
const capital = (text: string) => text.replace(/^(the|of) /, (word) => word.charAt(0).toUpperCase() + word.slice(1));

/** `2 burn alerts fire` */
export function firingWords(alerts: readonly Schemas["SloAlert"][]): string | null {
  const firing = alerts.filter((alert) => alert.firing).length;
  return firing === 0 ? null : `${plural(firing, "burn alert")} ${firing === 1 ? "fires" : "fire"}`;
}
