/** What happened inside the silence of maintenance, from the occurrences and the incidents of the same span. */

import type { Schemas } from "../../api/client";
import { epoch } from "../../lib/time";

type Occurrence = Schemas["MaintenanceOccurrence"];
type Incident = Schemas["IncidentRow"];

export interface Heard {
  occurrence: Occurrence;
  /** Nobody was told. */
  silenced: Incident[];
  /** Still there at the end and told then: such an incident begins at the end of the window. */
  after: Incident[];
}

const began = (one: Incident) => epoch(one.started_at) ?? 0;

function covers({ monitors, fleets }: Occurrence, one: Incident): boolean {
  if (one.monitor) return monitors == null || monitors.includes(one.monitor.id);
  if (one.fleet) return (monitors == null && fleets == null) || (fleets ?? []).includes(one.fleet.id);
  return false;
}

/** Occurrences that are over and kept alerts silent, the latest first. */
export function heardOf(occurrences: readonly Occurrence[], incidents: readonly Incident[]): Heard[] {
  const rows: Heard[] = occurrences
    .filter((o) => o.phase === "past" && o.kind === "planned" && o.suppress_alerts)
    .reverse()
    .map((occurrence) => ({ occurrence, silenced: [], after: [] }));
  for (const one of incidents) {
    // Silence lasts a little longer than the window: what is silenced belongs to the last one that has begun.
    const row = rows.find(({ occurrence }) => {
      const [start, end] = [epoch(occurrence.start) ?? 0, epoch(occurrence.end) ?? 0];
      return covers(occurrence, one) && (one.suppressed ? start <= began(one) : end === began(one));
    });
    if (row) (one.suppressed ? row.silenced : row.after).push(one);
  }
  return rows;
}
