import type { KeyboardEvent, ReactNode } from "react";
import { useState } from "react";
import { Button } from "./Button";

/** Does something that draws a list anew, and leaves the focus where it was. */
export function keepFocus(act: () => void) {
  const before = document.activeElement;
  act();
  // Moving a node takes the focus from what is in it.
  requestAnimationFrame(() => {
    if (before instanceof HTMLElement && before.isConnected && document.activeElement !== before) before.focus();
  });
}

/** Leads the focus to something that is drawn with the next picture: what was removed took it away. */
export function focusSoon(selector: string) {
  requestAnimationFrame(() => document.querySelector<HTMLElement>(selector)?.focus());
}

/** Says politely where something is now, for those who do not see it move. */
export function useSaid(): [ReactNode, (text: string) => void] {
  const [said, setSaid] = useState("");
  return [
    <span key="said" className="hidden-visually" role="status">
      {said}
    </span>,
    setSaid,
  ];
}

/** Alt and an arrow move the row in which they are pressed. */
export function orderKeys(move: (by: -1 | 1) => void) {
  return (event: KeyboardEvent) => {
    if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    event.stopPropagation();
    move(event.key === "ArrowUp" ? -1 : 1);
  };
}

/** Up, down, away: for one row of a list that is ordered by hand. */
export function OrderButtons(props: {
  /** What is moved, in the names of the buttons. */
  name: string;
  first: boolean;
  last: boolean;
  move: (by: -1 | 1) => void;
  remove?: () => void;
}) {
  const { name, first, last, move, remove } = props;
  return (
    <span className="order">
      {/* They stay reachable at the ends, so that the focus is not lost there. */}
      <Button
        compact
        data-by={-1}
        aria-label={`Move ${name} up`}
        aria-disabled={first}
        onClick={() => !first && move(-1)}
      >
        ↑
      </Button>
      <Button
        compact
        data-by={1}
        aria-label={`Move ${name} down`}
        aria-disabled={last}
        onClick={() => !last && move(1)}
      >
        ↓
      </Button>
      {remove && (
        <Button compact aria-label={`Remove ${name}`} onClick={remove}>
          Remove
        </Button>
      )}
    </span>
  );
}
