/** The numbers behind a finding as rows of a table: names in words, values with their units. */

import { count, duration, millis, NBSP, percent } from "../../lib/format";
import { oddsOf } from "./figures";

/** Names whose words say more than the name itself. */
const names: Record<string, string> = {
  bad: "bad attempts",
  share: "share of them",
  peers: "compared with, peers",
  peers_attempts: "their attempts",
  peers_bad: "their bad ones",
  expected_share: "share to be expected",
  times_expected: "as many as expected",
  rho: "spread allowed for between instances",
  p: "chance of that",
  elevated: "instances above what is usual for them",
  instances: "instances with enough attempts",
  usual_windows: "windows that stand for the usual",
  faults: "how they failed",
  codes: "answers by status",
  routes: "bad attempts by route",
  traffic_times_peers: "traffic, as many as a peer's",
  window_s: "length of a window",
  windows_of_last_3: "windows of the last three",
  attempts_so_far: "attempts since it began",
  bad_so_far: "bad ones since it began",
  status_5xx: "5xx",
  no_connection: "no connection",
  timeout: "no answer in time",
  reset: "broken answer",
  each: "each",
};

/** Rows of name and value; what is empty or none is left out. */
export function evidenceRows(evidence: unknown): [string, string][] {
  if (evidence === null || typeof evidence !== "object") return [];
  return Object.entries(evidence as Record<string, unknown>)
    .map(([name, value]): [string, string] => [nameOf(name), worded(name, value)])
    .filter(([, value]) => value !== "");
}

function nameOf(name: string): string {
  return (
    names[name] ??
    name
      .replace(/_m?s$/, "")
      .replace(/^peers_/, "peers’ ")
      .replace(/^usual_/, "usual ")
      .replaceAll("_", " ")
  );
}

function worded(name: string, value: unknown): string {
  if (value === null || value === undefined || value === "") return "";
  if (typeof value === "number") return numberOf(name, value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value))
    return value
      .map((one) => worded(name, one))
      .filter(Boolean)
      .join("; ");
  if (typeof value === "object") return objectOf(value as Record<string, unknown>);
  return String(value);
}

function numberOf(name: string, value: number): string {
  if (name === "p") return oddsOf(value);
  if (name.endsWith("_ms")) return millis(value);
  if (name.endsWith("_s")) return duration(value);
  if (name.endsWith("share")) return percent(value, 1);
  if (name.includes("times_")) return `×${NBSP}${value.toFixed(value < 10 ? 1 : 0)}`;
  return Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(2)));
}

/** Instances and routes lead with their name; of counts those of zero say nothing. */
function objectOf(value: Record<string, unknown>): string {
  const { instance, route, ...rest } = value;
  const parts = Object.entries(rest)
    .filter(([, inner]) => inner !== 0)
    .map(([name, inner]) => [nameOf(name), worded(name, inner)] as const)
    .filter(([, text]) => text !== "")
    .map(([name, text]) => `${name}${NBSP}${text}`);
  const lead = [instance, route].filter((text) => typeof text === "string").join(" ");
  return lead === "" ? parts.join(", ") : `${lead}: ${parts.join(", ")}`;
}
