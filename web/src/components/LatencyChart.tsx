import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import { millis } from "../lib/format";
import { type Aligned, align, cursorWords, niceTop, type Series, seriesSummary, withGaps } from "../lib/series";
import { axisLabels } from "../lib/axis";
import { useWidth } from "../lib/useWidth";

/** Lines are ink, so locations are told apart by their dashes. */
export const dashes: number[][] = [[], [7, 3], [2, 2], [9, 3, 2, 3], [1, 4], [12, 4]];

interface Props {
  series: readonly Series[];
  /** Seconds. */
  from: number;
  to: number;
  step: number;
  height?: number;
  /** Called with the span that was dragged over. */
  onZoom?: (from: number, to: number) => void;
}

/**
 * Latency of passes over time: the p50 line in its p50–p95 band, fails shaded, axis from 0, gaps left
 * open. Dragging zooms; arrow keys move the cursor; what is under it is written below.
 */
export function LatencyChart({ series, from, to, step, height = 210, onZoom }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const zoom = useRef(onZoom);
  zoom.current = onZoom;
  const [at, setAt] = useState<number | null>(null);
  const width = useWidth(host);
  // The canvas holds colours of its own, so it is drawn again when the scheme changes.
  const scheme = useComputedColorScheme("light");
  const data = useMemo(
    () => align(series.map((s) => ({ name: s.name, points: withGaps(s.points, step) }))),
    [series, step],
  );

  useEffect(() => {
    const element = host.current;
    if (!element || width === 0) return;
    const options = chartOptions({ data, count: series.length, from, to, step, width, height, scheme });
    options.hooks = {
      drawClear: [(u) => shadeFails(u, data, step)],
      setCursor: [(u) => setAt(u.cursor.idx ?? null)],
      setSelect: [
        (u) => {
          if (u.select.width < 8) return;
          const [left, right] = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          zoom.current?.(left, right);
        },
      ],
    };
    const columns = [data.times, ...data.p50.flatMap((line, k) => [data.p95[k] ?? [], line])];
    plot.current = new uPlot(options, columns as uPlot.AlignedData, element);
    return () => {
      plot.current?.destroy();
      plot.current = null;
    };
  }, [data, series.length, from, to, step, width, height, scheme]);

  const move = (by: number) => {
    const last = data.times.length - 1;
    const next = at === null ? last : Math.max(0, Math.min(last, at + by));
    const time = data.times[next];
    setAt(next);
    if (plot.current && time !== undefined)
      plot.current.setCursor({ left: plot.current.valToPos(time, "x"), top: 10 }, false);
  };
  return (
    <div className="chart">
      <div
        ref={host}
        style={{ minHeight: height }}
        role="img"
        aria-label={seriesSummary(series)}
        tabIndex={0}
        onKeyDown={(event) => {
          if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
          event.preventDefault();
          move(event.key === "ArrowLeft" ? -1 : 1);
        }}
      />
      <div className="chart-words">
        {at !== null && data.times[at] !== undefined ? (
          <span aria-live="polite">{cursorWords(series, data, at)}</span>
        ) : (
          <Legend series={series} />
        )}
      </div>
    </div>
  );
}

function Legend({ series }: { series: readonly Series[] }) {
  return (
    <span className="row">
      <span className="muted">
        {series.length === 1 ? "p50 line in its band to p95" : "p50; one location alone shows its band to p95"}
      </span>
      {series.map((s, k) => (
        <span key={s.name} className="nowrap">
          <svg width="26" height="8" aria-hidden="true">
            <path
              d="M0 4h26"
              stroke="var(--text)"
              strokeWidth="1.5"
              strokeDasharray={dashes[k % dashes.length]?.join(" ")}
            />
          </svg>{" "}
          {s.name}
        </span>
      ))}
    </span>
  );
}

const tone = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function chartOptions(of: {
  data: Aligned;
  count: number;
  from: number;
  to: number;
  step: number;
  width: number;
  height: number;
  scheme: string;
}): uPlot.Options {
  const axis = {
    stroke: tone("--text3"),
    font: `12px ${getComputedStyle(document.body).fontFamily}`,
    grid: { stroke: tone("--line"), width: 1 },
    ticks: { show: false },
  };
  const ids = Array.from({ length: of.count }, (_, k) => k);
  return {
    width: of.width,
    height: of.height,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
    scales: { x: { time: true, range: () => [of.from, of.to] }, y: { range: (_u, _min, max) => [0, niceTop(max)] } },
    axes: [
      { ...axis, size: 30, values: (_u, ticks) => axisLabels(ticks), space: 70 },
      { ...axis, size: 72, space: 44, values: (_u, ticks) => ticks.map((v) => millis(v)) },
    ],
    series: [
      {},
      ...ids.flatMap((k) => [
        { stroke: "transparent", width: 0, points: { show: false } },
        { stroke: tone("--text"), width: 1.5, dash: dashes[k % dashes.length], points: { show: false } },
      ]),
    ],
    // Bands of several locations would only cover each other.
    bands: of.count === 1 ? [{ series: [1, 2] as [number, number], fill: `${tone("--phase3")}55` }] : [],
  };
}

/** Steps with fails, behind the lines. */
function shadeFails(u: uPlot, data: Aligned, step: number) {
  u.ctx.save();
  u.ctx.globalAlpha = 0.22;
  u.ctx.fillStyle = tone("--down");
  data.fails.forEach((fails, i) => {
    const time = data.times[i];
    if (fails === 0 || time === undefined) return;
    const left = Math.max(u.bbox.left, u.valToPos(time, "x", true));
    const right = Math.min(u.bbox.left + u.bbox.width, u.valToPos(time + step, "x", true));
    if (right > left) u.ctx.fillRect(left, u.bbox.top, Math.max(2, right - left), u.bbox.height);
  });
  u.ctx.restore();
}
