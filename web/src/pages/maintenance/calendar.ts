/** The geometry of the calendar: five weeks from the Monday of this one, on the viewer's clocks. */

import type { Schemas } from "../../api/client";
import { zoneOffset } from "../../lib/axis";
import { epoch } from "../../lib/time";

type Maintenance = Schemas["Maintenance"];
type Occurrence = Schemas["MaintenanceOccurrence"];

export const WEEKS = 5;
const DAY = 86_400;

/** Midnights from the Monday of the week that holds an instant; the last one ends the calendar. */
export function midnights(now: number, zone: string): number[] {
  const wall = now + zoneOffset(now, zone);
  const today = Math.floor(wall / DAY);
  // 1 January 1970 was a Thursday.
  const monday = today - ((today + 3) % 7);
  return Array.from({ length: WEEKS * 7 + 1 }, (_, i) => {
    const at = (monday + i) * DAY;
    const guess = at - zoneOffset(at - zoneOffset(now, zone), zone);
    return at - zoneOffset(guess, zone);
  });
}

/** One line of the calendar. */
export interface Line {
  entry: Maintenance | null;
  name: string;
  bars: Bar[];
}

export interface Bar {
  from: number;
  to: number;
  phase: Occurrence["phase"];
  correction: boolean;
}

/** A line for each window and plan that takes place within the calendar, what comes first on top. */
export function linesOf(
  occurrences: readonly Occurrence[],
  entries: readonly Maintenance[],
  from: number,
  to: number,
): Line[] {
  const known = new Map(entries.map((entry) => [entry.id, entry]));
  const lines = new Map<string, Line>();
  for (const one of occurrences) {
    const [start, end] = [epoch(one.start) ?? 0, epoch(one.end) ?? 0];
    if (end <= from || start >= to) continue;
    const line = lines.get(one.maintenance) ?? {
      entry: known.get(one.maintenance) ?? null,
      name: one.name,
      bars: [],
    };
    line.bars.push({
      from: Math.max(start, from),
      to: Math.min(end, to),
      phase: one.phase,
      correction: one.kind === "correction",
    });
    lines.set(one.maintenance, line);
  }
  return [...lines.values()];
}
