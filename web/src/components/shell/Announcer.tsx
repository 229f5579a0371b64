import { useEffect, useRef, useState } from "react";
import type { Schemas } from "../../api/client";
import { list } from "../../lib/format";
import { nameOf } from "../../lib/incidents";

/**
 * Tells people who do not look at the screen what changed: a new down at once, anything else when
 * there is a pause. Changes of one answer are told together.
 */
export function Announcer({ incidents }: { incidents: readonly Schemas["IncidentRow"][] }) {
  const known = useRef<Map<string, string> | null>(null);
  const [urgent, setUrgent] = useState("");
  const [calm, setCalm] = useState("");
  useEffect(() => {
    const now = new Map(incidents.filter((i) => !i.suppressed).map((i) => [i.id, `${i.severity} ${nameOf(i)}`]));
    const before = known.current;
    known.current = now;
    if (!before) return;
    const fresh = [...now].filter(([id, words]) => before.get(id) !== words).map(([, words]) => words);
    const over = [...before].filter(([id]) => !now.has(id)).map(([, words]) => words.replace(/^\S+ /, ""));
    const down = fresh.filter((words) => words.startsWith("down ")).map((words) => words.slice(5));
    const other = fresh.filter((words) => !words.startsWith("down "));
    if (down.length > 0) setUrgent(`${list(down)} ${down.length === 1 ? "is" : "are"} down.`);
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
