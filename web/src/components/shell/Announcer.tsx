import { useEffect, useRef, useState } from "react";
import type { Schemas } from "../../api/client";
import { list } from "../../lib/format";
import { nameOf, subjectOf } from "../../lib/incidents";

type Incident = Schemas["IncidentRow"];

/** How one incident is told: `partial checkout`, `shop-web: web-3 fails more than its peers`. */
const said = (incident: Incident) => ({
  about: subjectOf(incident),
  fleet: Boolean(incident.fleet),
  urgent: incident.severity === "down",
  words: incident.fleet ? nameOf(incident) : `${incident.severity} ${nameOf(incident)}`,
});

/**
 * Tells people who do not look at the screen what changed: a new down at once, anything else when
 * there is a pause. Changes of one answer are told together.
 */
export function Announcer({ incidents }: { incidents: readonly Incident[] }) {
  const known = useRef<Map<string, ReturnType<typeof said>> | null>(null);
  const [urgent, setUrgent] = useState("");
  const [calm, setCalm] = useState("");
  useEffect(() => {
    const now = new Map(incidents.filter((i) => !i.suppressed).map((i) => [i.id, said(i)]));
    const before = known.current;
    known.current = now;
    if (!before) return;
    const fresh = [...now].filter(([id, one]) => before.get(id)?.words !== one.words).map(([, one]) => one);
    const over = [...before].filter(([id]) => !now.has(id)).map(([, one]) => one.about);
    const down = fresh.filter((one) => one.urgent && !one.fleet).map((one) => one.about);
    const failing = fresh.filter((one) => one.urgent && one.fleet).map((one) => `${one.words}.`);
    const other = fresh.filter((one) => !one.urgent).map((one) => one.words);
    const urgentWords = [
      ...(down.length > 0 ? [`${list(down)} ${down.length === 1 ? "is" : "are"} down.`] : []),
      ...failing,
    ];
    if (urgentWords.length > 0) setUrgent(urgentWords.join(" "));
    const calmWords = [
      ...(other.length > 0 ? [`${list(other)}.`] : []),
      ...(over.length > 0 ? [`${list(over)} ${over.length === 1 ? "has" : "have"} recovered.`] : []),
    ];
    if (calmWords.length > 0) setCalm(calmWords.join(" "));
  }, [incidents]);
  return (
    <>
      <div className="hidden-visually" role="alert">
        {urgent}
      </div>
      <div className="hidden-visually" role="status">
        {calm}
      </div>
    </>
  );
}
