import { useRef, useState } from "react";
import { axisLabels, ticks } from "../lib/axis";
import { epoch, when } from "../lib/time";
import { useWidth } from "../lib/useWidth";
import { type Interval, StripRuns, stripSummary } from "./Strip";

/** A row of states, or a row of ticks, on the shared axis. */
export interface Lane {
  name: string;
  about?: string;
  intervals: readonly Interval[];
  ticks?: readonly { at: number; words: string }[];
  /** Spans in which something is missing that another lane has. */
  dashed?: readonly { from: string; to: string | null }[];
}

type Tick = NonNullable<Lane["ticks"]>[number];

/** Ticks that would stand closer than five pixels become one, so that they do not hide the strip. */
export function gathered(ticks: readonly Tick[], x: (at: number) => number): { at: number; ticks: Tick[] }[] {
  const groups: { at: number; ticks: Tick[] }[] = [];
  for (const tick of [...ticks].sort((a, b) => a.at - b.at)) {
    const last = groups[groups.length - 1];
    if (last && x(tick.at) - last.at < 5) last.ticks.push(tick);
    else groups.push({ at: x(tick.at), ticks: [tick] });
  }
  return groups;
}

const LEFT = 132;
const ROW = 24;

/**
 * Several rows over one axis of time. Dragging chooses a span. Ticks are decisions and edits; what
 * they say is written below when one is pointed at, and stands in the table twin as well.
 */
export function Timeline({
  lanes,
  from,
  to,
  onZoom,
}: {
  lanes: readonly Lane[];
  from: number;
  to: number;
  onZoom?: (from: number, to: number) => void;
}) {
  const host = useRef<HTMLDivElement>(null);
  const width = useWidth(host);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const [said, setSaid] = useState<string | null>(null);
  const left = width < 560 ? 64 : LEFT;
  const inner = Math.max(40, width - left - 4);
  const height = lanes.length * ROW + 22;
  const x = (t: number) => left + ((t - from) / (to - from)) * inner;
  const t = (px: number) => from + (Math.min(inner, Math.max(0, px - left)) / inner) * (to - from);
  const marks = ticks(from, to, Math.max(2, Math.floor(inner / 90)));
  const labels = axisLabels(marks);
  const pixel = (event: React.PointerEvent) => event.clientX - (host.current?.getBoundingClientRect().left ?? 0);
  return (
    <div ref={host} className="timeline">
      {width > 0 && (
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={lanes.map((lane) => `${lane.name}: ${stripSummary(lane.intervals, from, to)}`).join(". ")}
          style={{ display: "block", touchAction: "pan-y", cursor: onZoom ? "crosshair" : undefined }}
          onPointerDown={(event) => onZoom && event.pointerType === "mouse" && setDrag([pixel(event), pixel(event)])}
          onPointerMove={(event) => drag && setDrag([drag[0], pixel(event)])}
          onPointerUp={() => {
            if (drag && onZoom && Math.abs(drag[1] - drag[0]) > 8) onZoom(t(Math.min(...drag)), t(Math.max(...drag)));
            setDrag(null);
          }}
          onPointerLeave={() => setDrag(null)}
        >
          {marks.map((at, i) => (
            <g key={at}>
              <path d={`M${x(at)} 0V${height - 20}`} stroke="var(--line)" />
              <text x={x(at)} y={height - 5} textAnchor="middle" className="quiet">
                {labels[i]}
              </text>
            </g>
          ))}
          {lanes.map((lane, i) => (
            <g key={lane.name}>
              <text x={0} y={i * ROW + 18} className="head">
                {lane.name}
                {lane.about && width >= 560 && (
                  <tspan className="quiet" fontWeight={400} fill="var(--text3)" dx={6}>
                    {lane.about}
                  </tspan>
                )}
              </text>
              <StripRuns
                intervals={lane.intervals}
                from={from}
                to={to}
                x={left}
                y={i * ROW + 5}
                width={inner}
                height={15}
              />
              {(lane.dashed ?? []).map((span) => {
                const start = Math.max(from, epoch(span.from) ?? from);
                const end = Math.min(to, span.to === null ? to : (epoch(span.to) ?? to));
                return (
                  <rect
                    key={span.from}
                    x={x(start)}
                    y={i * ROW + 5.5}
                    width={Math.max(4, x(end) - x(start))}
                    height={14}
                    fill="none"
                    stroke="var(--text2)"
                    strokeDasharray="2 2"
                  />
                );
              })}
              {gathered(lane.ticks ?? [], x).map(({ at, ticks }) => {
                const words = ticks.map((tick) => `${when(tick.at)}: ${tick.words}`);
                return (
                  <g key={at} onPointerEnter={() => setSaid(words.slice(-3).join(" "))}>
                    <title>{words.join("\n")}</title>
                    <path d={`M${at} ${i * ROW + 1}v12`} stroke="var(--text)" strokeWidth="1.5" />
                    <path d={`M${at} ${i * ROW + 1}v20`} stroke="transparent" strokeWidth="11" />
                  </g>
                );
              })}
            </g>
          ))}
          {drag && (
            <rect
              x={Math.min(...drag)}
              y={0}
              width={Math.abs(drag[1] - drag[0])}
              height={height - 20}
              fill="var(--text)"
              fillOpacity="0.08"
              stroke="var(--text)"
            />
          )}
        </svg>
      )}
      {said && <p className="small soft">{said}</p>}
    </div>
  );
}
