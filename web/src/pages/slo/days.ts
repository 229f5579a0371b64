/** A day as pieces of a cell: what was bad or is not known, side by side, each wide enough to be seen. */

import type { Schemas } from "../../api/client";

type Day = Schemas["SloReportDay"];

export interface Piece {
  mark: "down" | "partial" | "unknown" | "maintenance";
  x: number;
  width: number;
}

/** What is bad or unknown is so many pixels wide at least. */
const LEAST = 4;

const shares = (day: Day): [Piece["mark"], number][] => [
  ["down", day.down_ms],
  ["partial", day.partial_ms],
  ["unknown", day.unknown_ms],
  ["maintenance", day.excluded_ms],
];

/** The pieces of a cell from left to right; they never reach beyond it. */
export function piecesOf(day: Day, width: number): Piece[] {
  const there = shares(day).filter(([, ms]) => ms > 0);
  const least = Math.min(LEAST, width / Math.max(1, there.length));
  const wide = there.map(([, ms]) => Math.max(least, (ms / Math.max(1, day.length_ms)) * width));
  const sum = wide.reduce((a, b) => a + b, 0);
  const spare = sum > width ? sum - width : 0;
  // Only what is wider than the least can give way.
  const loose = wide.reduce((a, b) => a + (b - least), 0);
  let x = 0;
  return there.map(([mark], i) => {
    const own = wide[i] ?? 0;
    const width = own - (loose > 0 ? (spare * (own - least)) / loose : 0);
    const piece = { mark, x, width };
    x += width;
    return piece;
  });
}

/** The one thing that a cell without room shows: the gravest there is. */
export function worstOf(day: Day): Piece["mark"] | null {
  return shares(day).find(([, ms]) => ms > 0)?.[0] ?? null;
}
