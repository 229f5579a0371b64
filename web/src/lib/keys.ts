import { useEffect, useRef, useSyncExternalStore } from "react";

const STORE = "quorate.keys";
const listeners = new Set<() => void>();

/** Single-letter keys can be turned off, for people whose tools press letters for them. */
export function keysOn(): boolean {
  return localStorage.getItem(STORE) !== "off";
}

export function setKeys(on: boolean) {
  localStorage.setItem(STORE, on ? "on" : "off");
  for (const tell of listeners) tell();
}

export function useKeysOn(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, keysOn);
}

/** Whether a key press belongs to a control that takes text or letters itself. */
export function taken(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName) ||
    target.closest("[role=dialog],[role=listbox],[role=menu]") !== null
  );
}

/** Listens to single keys on the whole page. The map's keys are `KeyboardEvent.key` values. */
export function useKeys(map: Record<string, () => void>) {
  const current = useRef(map);
  current.current = map;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (taken(event.target) || !keysOn()) return;
      const act = current.current[event.key];
      // Enter on a link or button is its own.
      if (
        !act ||
        (event.key === "Enter" && event.target !== document.body && (event.target as HTMLElement).id !== "main")
      )
        return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
}

/** The list behind `?`. */
export const keyList: readonly [string, string][] = [
  ["Ctrl K", "find any object or action"],
  ["/", "filter the list"],
  ["j k", "next, previous row"],
  ["Enter", "open the row"],
  ["a", "acknowledge"],
  ["n", "write a note"],
  ["[ ]", "shorter, longer time range"],
  ["?", "this list"],
];
