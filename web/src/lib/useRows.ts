import { useState } from "react";
import { useNavigate } from "react-router";
import { useKeys } from "./keys";

/** `j k` move through a list, Enter opens. Returns the row that is pointed at. */
export function useRows(ids: readonly string[], to: (id: string) => string): string | null {
  const [here, setHere] = useState<string | null>(null);
  const navigate = useNavigate();
  const move = (by: number) => {
    const at = here === null ? -1 : ids.indexOf(here);
    const next = ids[at === -1 ? (by > 0 ? 0 : ids.length - 1) : Math.max(0, Math.min(ids.length - 1, at + by))];
    if (next === undefined) return;
    setHere(next);
    // A row that is not drawn yet has no element; scrolling by one row draws it.
    document.querySelector(`[data-row="${next}"]`)?.scrollIntoView({ block: "nearest" });
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      if (here !== null) navigate(to(here));
    },
  });
  return here !== null && ids.includes(here) ? here : null;
}
