import { useMemo, useRef } from "react";
import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { useTwin } from "../../components/Twin";
import { plural } from "../../lib/format";
import { type Names, scopeWords, spanWords, whenWords } from "../../lib/maintenance";
import { day, epoch, utc, zoneLabel } from "../../lib/time";
import { useWidth } from "../../lib/useWidth";
import { ownZone } from "../../lib/zones";
import { type Bar, type Line, linesOf, midnights } from "./calendar";

type Occurrence = Schemas["MaintenanceOccurrence"];

/** No bar is narrower: a short one must still be seen. */
const LEAST = 9;
const phases = { planned: "Planned", running: "Now", past: "Past", skipped: "Skipped" } as const;

/** Five weeks, a line for each window and plan. */
export function CalendarCard(props: {
  occurrences: readonly Occurrence[];
  more: boolean;
  entries: readonly Schemas["Maintenance"][];
  names: Names;
  now: number;
}) {
  const { occurrences, entries, names, now } = props;
  const twin = useTwin();
  const zone = ownZone();
  // The days stay the same until the next one begins.
  const today = day(now, now, zone);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the day stands for the instant
  const days = useMemo(() => midnights(now, zone), [today, zone]);
  const [from = now, to = now] = [days[0], days[days.length - 1]];
  const lines = linesOf(occurrences, entries, from, to);
  return (
    <Card
      title="Five weeks"
      beside={`${day(from, now)} – ${day(to - 1, now)} · ${zoneLabel(now)} · bars are at least ${LEAST} px wide`}
      actions={lines.length > 0 && twin.button}
      footer={props.more && "Only the first 500 occurrences are drawn."}
    >
      {lines.length === 0 && <div className="empty">Nothing takes place in these five weeks.</div>}
      {lines.length > 0 && !twin.asTable && (
        <div className="body">
          <Drawing lines={lines} days={days} now={now} names={names} />
        </div>
      )}
      {lines.length > 0 && twin.asTable && <Table occurrences={occurrences} now={now} />}
    </Card>
  );
}

function Table({ occurrences, now }: { occurrences: readonly Occurrence[]; now: number }) {
  return (
    <ScrollX label="Occurrences of five weeks">
      <table className="grid dense">
        <caption className="hidden-visually">Occurrences of five weeks</caption>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">What</th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {occurrences.map((one) => (
            <tr key={`${one.maintenance}${one.start}`}>
              <th scope="row" className="small-weight nowrap" title={utc(one.start)}>
                {spanWords(epoch(one.start) ?? 0, epoch(one.end) ?? 0, now)}
              </th>
              <td className="break">{one.name}</td>
              <td>{one.kind === "correction" ? "Correction" : phases[one.phase]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

/** The drawing: on narrow screens names stand above their bars. */
function Drawing(props: { lines: readonly Line[]; days: readonly number[]; now: number; names: Names }) {
  const { lines, days, now, names } = props;
  const host = useRef<HTMLDivElement>(null);
  const width = useWidth(host);
  const narrow = width < 640;
  const [left, row, top] = narrow ? [0, 62, 22] : [220, 46, 22];
  const height = top + lines.length * row + 20;
  const [from = now, to = now] = [days[0], days[days.length - 1]];
  const x = (at: number) => left + ((at - from) / (to - from)) * (width - left - 1);
  const running = lines.filter((line) => line.bars.some((bar) => bar.phase === "running")).length;
  const total = lines.reduce((sum, line) => sum + line.bars.length, 0);
  return (
    <div ref={host} className="maintenance-calendar">
      {width > 0 && (
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={`${plural(total, "occurrence")} of ${plural(lines.length, "window or plan", "windows and plans")} in five weeks, ${running} running now`}
          style={{ display: "block" }}
        >
          {days.slice(0, -1).map((at, i) => (
            <g key={at}>
              {i % 7 >= 5 && (
                <rect
                  x={x(at)}
                  y={top}
                  width={x(days[i + 1] ?? to) - x(at)}
                  height={height - top - 18}
                  className="weekend"
                />
              )}
              {i % 7 === 0 && (
                <>
                  <path d={`M${x(at)} 4V${height - 18}`} stroke="var(--line)" />
                  <text x={x(at) + 4} y={14} className="quiet">
                    {narrow ? day(at, now).split(" ").slice(1, 3).join(" ") : day(at, now)}
                  </text>
                </>
              )}
            </g>
          ))}
          <path d={`M${x(now)} 0V${height - 18}`} stroke="var(--text)" strokeWidth="1.5" />
          {lines.map((line, i) => (
            <g key={line.entry?.id ?? `${line.name}${i}`}>
              <path d={`M0 ${top + (i + 1) * row}H${width}`} stroke="var(--line)" />
              <text x={narrow ? 2 : 0} y={top + i * row + (narrow ? 15 : 19)} className="head halo">
                {clipped(line.name, narrow ? 44 : 30)}
              </text>
              {line.entry && (
                <text x={narrow ? 2 : 0} y={top + i * row + (narrow ? 30 : 35)} className="quiet halo">
                  {clipped(about(line, now, names), narrow ? 56 : 36)}
                </text>
              )}
              {line.bars.map((bar) => (
                <Shape
                  key={bar.from}
                  bar={bar}
                  x={x}
                  y={top + i * row + (narrow ? 36 : 10)}
                  height={narrow ? 20 : 26}
                />
              ))}
            </g>
          ))}
          <text x={Math.min(x(now) + 4, width - 26)} y={height - 5} className="halo">
            now
          </text>
        </svg>
      )}
    </div>
  );
}

function about(line: Line, now: number, names: Names): string {
  if (!line.entry) return "";
  const scope = scopeWords(line.entry, names);
  return line.entry.cron ? `${scope}, ${whenWords(line.entry, now)}` : scope;
}

const clipped = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Dots are planned or running, an outline is over, dashes were skipped; a correction has a solid edge below. */
function Shape({ bar, x, y, height }: { bar: Bar; x: (at: number) => number; y: number; height: number }) {
  const start = x(bar.from);
  const wide = Math.max(LEAST, x(bar.to) - start);
  const gone = bar.phase === "past" || bar.phase === "skipped";
  return (
    <rect
      x={start}
      y={y}
      width={wide}
      height={height}
      rx={2}
      fill={gone ? "var(--surface)" : "url(#dots-maintenance)"}
      stroke={gone ? "var(--edge)" : "var(--maintenance)"}
      strokeWidth={bar.phase === "running" ? 2.5 : 1.4}
      strokeDasharray={bar.phase === "skipped" ? "3 2" : undefined}
    />
  );
}
