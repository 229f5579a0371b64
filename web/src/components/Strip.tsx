import { duration, list } from "../lib/format";
import { type Mark, markOf, rank, wordOf } from "../lib/states";
import { epoch } from "../lib/time";
import { colour } from "./StateMark";

/** A piece of time in one state. `to` absent lasts until now; `state` absent is a gap. */
export interface Interval {
  from: string;
  to?: string | null;
  state?: string | null;
  evidence_stale?: boolean;
  /** Low confidence. */
  low?: boolean;
  /** Quorate itself did not run: unknown, whatever the state was. */
  not_running?: boolean;
}

const shownState = (piece: Interval): string | null => (piece.not_running ? "unknown" : (piece.state ?? null));

/** Height of a state as a share of the strip: severity is height, ignorance is hatching. */
const heights: Record<Mark, number> = {
  up: 0.26,
  slow: 0.6,
  partial: 0.78,
  down: 1,
  unknown: 1,
  pending: 0,
  paused: 0.08,
  maintenance: 1,
  quarantined: 1,
  suspect: 0.6,
  recovering: 0.26,
};

function fillOf(mark: Mark, stale: boolean): string {
  if (stale && mark === "down") return "url(#hatch-down)";
  if (stale && mark === "partial") return "url(#hatch-partial)";
  if (mark === "unknown") return "url(#hatch-unknown)";
  if (mark === "quarantined") return "url(#hatch-quarantined)";
  if (mark === "maintenance") return "url(#dots-maintenance)";
  return colour(mark);
}

interface Run {
  x: number;
  width: number;
  state: string;
  stale: boolean;
  low: boolean;
}

/**
 * Lays intervals out on pixels. A pixel that several states share shows the worst of them, and a
 * stretch without an interval stays empty: a gap is never filled in.
 */
export function layOut(intervals: readonly Interval[], from: number, to: number, width: number): Run[] {
  const pixels = Math.max(1, Math.round(width));
  const cells: (Omit<Run, "x" | "width"> | null)[] = new Array(pixels).fill(null);
  for (const piece of intervals) {
    const start = epoch(piece.from);
    const end = piece.to == null ? to : epoch(piece.to);
    const state = shownState(piece);
    if (state === null || start === null || end === null || end <= from || start >= to) continue;
    const scale = pixels / (to - from);
    const first = Math.max(0, Math.floor((start - from) * scale));
    const last = Math.min(pixels, Math.max(first + 1, Math.ceil((end - from) * scale)));
    for (let i = first; i < last; i++) {
      const there = cells[i];
      if (there && rank(there.state) <= rank(state)) continue;
      cells[i] = { state, stale: piece.evidence_stale === true, low: piece.low === true };
    }
  }
  const runs: Run[] = [];
  cells.forEach((cell, i) => {
    const last = runs[runs.length - 1];
    if (!cell) return;
    if (
      last &&
      last.x + last.width === i &&
      last.state === cell.state &&
      last.stale === cell.stale &&
      last.low === cell.low
    )
      last.width += 1;
    else runs.push({ x: i, width: 1, ...cell });
  });
  return runs;
}

/** One run as rectangles; lengths along the strip may be pixels or percentages. */
function RunMarks({
  run,
  x,
  width,
  top,
  height,
}: {
  run: Run;
  x: number | string;
  width: number | string;
  top: number;
  height: number;
}) {
  const mark = markOf(run.state);
  const h = Math.max(mark === "pending" ? 0 : 2, heights[mark] * height);
  const box = { x, width, y: top + height - h, height: h };
  const outlined = run.stale && (mark === "down" || mark === "partial");
  return (
    <g data-state={run.state}>
      <rect {...box} fill={fillOf(mark, run.stale)} />
      {outlined && <rect {...box} fill="none" stroke={colour(mark)} />}
      {run.low && !run.stale && (
        <rect {...box} height={h / 2} fill={mark === "partial" ? "url(#hatch-partial)" : "url(#hatch-down)"} />
      )}
    </g>
  );
}

/** What is bad is two cells wide at least, so that a short outage is not lost in a day. */
const seen = (run: Run) => (rank(run.state) <= 2 ? Math.max(2, run.width) : run.width);

/** The pieces of a strip, placed in pixels inside another drawing. */
export function StripRuns(props: {
  intervals: readonly Interval[];
  from: number;
  to: number;
  width: number;
  height: number;
  x?: number;
  y?: number;
}) {
  const { height, width, x = 0, y = 0 } = props;
  return layOut(props.intervals, props.from, props.to, width).map((run) => (
    <RunMarks
      key={run.x}
      run={run}
      x={x + Math.min(run.x, width - seen(run))}
      width={seen(run)}
      top={y}
      height={height}
    />
  ));
}

/** Said instead of shown: how long each state lasted within the strip. */
export function stripSummary(intervals: readonly Interval[], from: number, to: number): string {
  const spans = new Map<string, number>();
  for (const piece of intervals) {
    const start = Math.max(from, epoch(piece.from) ?? from);
    const end = Math.min(to, piece.to == null ? to : (epoch(piece.to) ?? to));
    const state = shownState(piece);
    if (state !== null && end > start) {
      const word = wordOf(state).toLowerCase() + (piece.evidence_stale ? ", evidence stale" : "");
      spans.set(word, (spans.get(word) ?? 0) + end - start);
    }
  }
  if (spans.size === 0) return "no data";
  return list([...spans].sort((a, b) => b[1] - a[1]).map(([word, s]) => `${word} ${duration(s)}`));
}

/** Steps of a strip that is as wide as its column; few enough that one is a pixel or more. */
const CELLS = 240;

/** A strip of states over time, as wide as its column. Textures keep their grain at any width. */
export function Strip(props: {
  intervals: readonly Interval[];
  from: number;
  to: number;
  height?: number;
  label?: string;
}) {
  const height = props.height ?? 16;
  const percent = (cells: number) => `${(cells / CELLS) * 100}%`;
  return (
    <svg
      className="strip"
      role="img"
      aria-label={`${props.label ?? "States"}: ${stripSummary(props.intervals, props.from, props.to)}`}
      height={height}
    >
      {layOut(props.intervals, props.from, props.to, CELLS).map((run) => (
        <RunMarks
          key={run.x}
          run={run}
          x={percent(Math.min(run.x, CELLS - seen(run)))}
          width={percent(seen(run))}
          top={0}
          height={height}
        />
      ))}
    </svg>
  );
}
