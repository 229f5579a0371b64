import { useRef } from "react";

/**
 * Keeps the order of a list while it is being used. Rows keep their places and take new values in
 * place; what came, went or would move is counted, and applied when the list is let go or on request.
 */
export function useFrozen<T>(
  rows: readonly T[],
  idOf: (row: T) => string,
  frozen: boolean,
): { rows: T[]; changed: number; apply: () => void } {
  const kept = useRef<string[] | null>(null);
  if (!frozen) kept.current = null;
  else kept.current ??= rows.map(idOf);
  const order = kept.current;
  if (order === null) return { rows: [...rows], changed: 0, apply: () => {} };
  const { shown, changed } = inOrder(rows, order, idOf);
  return {
    rows: shown,
    changed,
    apply: () => {
      kept.current = rows.map(idOf);
    },
  };
}

/**
 * The rows in a given order, and how many would stand elsewhere. New rows among the known ones are
 * left out; those after the last known one (the next page) are simply added.
 */
export function inOrder<T>(
  rows: readonly T[],
  order: readonly string[],
  idOf: (row: T) => string,
): { shown: T[]; changed: number } {
  const byId = new Map(rows.map((row) => [idOf(row), row]));
  const shown = order.flatMap((id) => byId.get(id) ?? []);
  const known = new Set(order);
  const end = rows.findLastIndex((row) => known.has(idOf(row))) + 1;
  const came = rows.slice(0, end).filter((row) => !known.has(idOf(row))).length;
  const left = order.filter((id) => !byId.has(id)).length;
  const remaining = rows.filter((row) => known.has(idOf(row)));
  // What is no longer in step: everything outside the longest run that kept its order.
  const places = remaining.map((row) => order.indexOf(idOf(row)));
  const moved = remaining.length - longestRise(places);
  return { shown: [...shown, ...rows.slice(end)], changed: came + left + moved };
}

/** Length of the longest rising subsequence. */
function longestRise(values: readonly number[]): number {
  const tails: number[] = [];
  for (const value of values) {
    let low = 0;
    let high = tails.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if ((tails[mid] ?? 0) < value) low = mid + 1;
      else high = mid;
    }
    tails[low] = value;
  }
  return tails.length;
}
