import type { Schemas } from "../../api/client";
import { markOf } from "../../lib/states";

type Row = Schemas["MonitorRow"];

export interface Cell {
  /** Null: this location does not look at the monitor. */
  vote: string | null;
  counts: boolean;
}

export interface Matrix {
  /** Monitors with a column of their own: in trouble, or locations differ. */
  columns: { monitor: Row; cells: Map<string, Cell> }[];
  /** Location to how many monitors only it sees otherwise, folded into one block. */
  onlyDiffers: { location: string; count: number }[];
  /** How many monitors all locations agree on. */
  agree: number;
}

const bad = (vote: string) => vote === "down" || vote === "suspect";

/**
 * Sorts monitors into columns: those in trouble, those where one location alone differs, and those
 * where all agree. A location that differs alone on several becomes a block, so that a bad location
 * reads as a row and a bad target as a column.
 */
export function matrixOf(monitors: readonly Row[], most = 24): Matrix {
  const columns: Matrix["columns"] = [];
  const lone = new Map<string, Row[]>();
  let agree = 0;
  for (const monitor of monitors) {
    if (monitor.state === "paused" || monitor.state === "pending") continue;
    const counted = monitor.seats.filter((s) => s.counts);
    const fails = counted.filter((s) => bad(s.vote));
    const silent = monitor.seats.filter((s) => !s.counts);
    const odd = [...fails, ...silent];
    if (monitor.state === "up" && odd.length === 0) agree += 1;
    else if (monitor.state === "up" && odd.length === 1 && odd[0])
      lone.set(odd[0].name, [...(lone.get(odd[0].name) ?? []), monitor]);
    else columns.push({ monitor, cells: cellsOf(monitor) });
  }
  const onlyDiffers: Matrix["onlyDiffers"] = [];
  for (const [location, rows] of lone) {
    if (rows.length === 1 && rows[0]) columns.push({ monitor: rows[0], cells: cellsOf(rows[0]) });
    else onlyDiffers.push({ location, count: rows.length });
  }
  return { columns: columns.slice(0, most), onlyDiffers, agree };
}

function cellsOf(monitor: Row): Map<string, Cell> {
  return new Map(monitor.seats.map((s) => [s.name, { vote: s.vote, counts: s.counts }]));
}

/** Whether a cell draws a mark or only a small dot of agreement. */
export function isLoud(cell: Cell): boolean {
  return !cell.counts || (cell.vote !== null && markOf(cell.vote) !== "up");
}
