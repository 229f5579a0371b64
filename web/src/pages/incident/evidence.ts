import type { Schemas } from "../../api/client";
import type { Seat } from "../../components/Seats";
import { list } from "../../lib/format";
import { markOf } from "../../lib/states";

/** What one location said at the last opening or move. */
export interface Line {
  name: string;
  region: string;
  domain: string;
  vote: string;
  class: string | null;
  saw: string;
  address: string | null;
  simulated: boolean;
  uncounted: string | null;
}

export interface EvidenceOf {
  locations: Line[];
  needed: number | null;
  scope: string | null;
}

/** Reads the stored evidence; an incident that is about no monitor has none. */
export function readEvidence(incident: Schemas["Incident"]): EvidenceOf {
  const raw = incident.evidence as { locations?: Line[]; verdict?: { q?: number }; scope?: string | null } | null;
  return { locations: raw?.locations ?? [], needed: raw?.verdict?.q ?? null, scope: raw?.scope ?? null };
}

/** A job that did not call, or called to say that it failed: nobody looked, so nobody saw anything. */
export const isOfJob = (evidence: EvidenceOf): boolean =>
  evidence.locations.some((line) => line.class?.startsWith("heartbeat_"));

export function seats(lines: readonly Line[]): Seat[] {
  return lines.map((line) => ({
    location: line.name,
    vote: line.uncounted
      ? line.uncounted === "quarantined" || line.uncounted === "distrusted"
        ? "quarantined"
        : "unknown"
      : line.vote,
    counts: line.uncounted === null,
  }));
}

/** A row of the comparison: what failing locations have, what passing ones have, and whether they differ. */
export interface Compared {
  word: string;
  failing: string;
  passing: string;
  differs: boolean;
}

/** `503 (3), time-out (1)`: values with how many have them, alone when all agree. */
function together(values: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  if (counts.size === 0) return "–";
  if (counts.size === 1) return [...counts.keys()][0] ?? "–";
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .map(([value, n]) => `${value} (${n})`)
    .join(", ");
}

export function compare(lines: readonly Line[]): { failing: Line[]; passing: Line[]; rows: Compared[] } {
  const counted = lines.filter((line) => line.uncounted === null);
  const failing = counted.filter((line) => markOf(line.vote) === "down");
  const passing = counted.filter((line) => ["up", "slow"].includes(markOf(line.vote)));
  const row = (word: string, pick: (line: Line) => string | null): Compared => {
    const of = (group: readonly Line[]) => group.map(pick).filter((v): v is string => v !== null && v !== "");
    const a = new Set(of(failing));
    const differs = passing.length > 0 && a.size > 0 && of(passing).every((v) => !a.has(v));
    return { word, failing: together(of(failing)), passing: together(of(passing)), differs };
  };
  return {
    failing,
    passing,
    rows: [
      {
        ...row(
          "Saw",
          (line) => line.saw || (line.uncounted === null && markOf(line.vote) !== "down" ? "a good answer" : null),
        ),
        differs: false,
      },
      row("Address", (line) => line.address),
      row("Region", (line) => line.region),
      row("Network", (line) => line.domain),
    ],
  };
}

export function names(lines: readonly Line[]): string {
  return list(lines.map((line) => line.name));
}
