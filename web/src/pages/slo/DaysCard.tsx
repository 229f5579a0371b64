import { useRef } from "react";
import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { Empty } from "../../components/Status";
import { useTwin } from "../../components/Twin";
import { plural } from "../../lib/format";
import { lasting, pct } from "../../lib/slos";
import { useWidth } from "../../lib/useWidth";
import { type Piece, piecesOf, worstOf } from "./days";

type Day = Schemas["SloReportDay"];

const TALL = 32;
const fills: Record<Piece["mark"], string> = {
  down: "var(--down)",
  partial: "var(--partial)",
  unknown: "url(#hatch-unknown)",
  maintenance: "url(#dots-maintenance)",
};

/** A cell a day: full is down, hatched is unknown, dotted is maintenance, the line is the rest. */
export function DaysCard({ days, zone }: { days: readonly Day[]; zone: string }) {
  const twin = useTwin();
  return (
    <Card
      title="Day by day"
      beside={`days of ${zone}; full: down · hatched: unknown · dots: maintenance · line: up`}
      actions={days.length > 0 && twin.button}
    >
      {days.length === 0 && <Empty>No day has begun yet.</Empty>}
      {days.length > 0 && (twin.asTable ? <DayTable days={days} /> : <DayStrip days={days} />)}
    </Card>
  );
}

function DayStrip({ days }: { days: readonly Day[] }) {
  const host = useRef<HTMLDivElement>(null);
  const width = useWidth(host);
  const inner = Math.max(0, width - 32);
  const cell = Math.min(64, inner / days.length);
  const every = Math.max(1, Math.ceil(26 / Math.max(1, cell)));
  const bad = days.filter((day) => day.down_ms > 0).length;
  return (
    <div ref={host} className="day-strip">
      {width > 0 && (
        <svg
          width={width}
          height={TALL + 44}
          role="img"
          aria-label={`${plural(days.length, "day")}, ${bad === 0 ? "none with downtime" : `${bad} with downtime`}`}
        >
          {days.map((day, i) => (
            <g key={day.date} transform={`translate(${16 + i * cell} 20)`}>
              <title>{dayWords(day)}</title>
              {i % every === 0 && (
                <text x={cell / 2} y={-6} textAnchor="middle" className="quiet">
                  {Number(day.date.slice(8))}
                </text>
              )}
              <DayCell day={day} width={cell} />
              {day.down_ms > 0 && cell >= 44 && (
                <text x={cell / 2} y={TALL + 18} textAnchor="middle">
                  {lasting(day.down_ms)}
                </text>
              )}
            </g>
          ))}
        </svg>
      )}
    </div>
  );
}

function DayCell({ day, width }: { day: Day; width: number }) {
  const gap = width >= 8 ? 1 : 0;
  const inner = Math.max(1, width - gap);
  const narrow = worstOf(day);
  const up = day.pct != null && <rect y={TALL * 0.74} width={inner} height={TALL * 0.26} fill="var(--up)" />;
  if (width < 8)
    return (
      <>
        {up}
        {narrow && <rect width={inner} height={TALL} fill={fills[narrow]} />}
      </>
    );
  return (
    <>
      <rect x="0.5" y="0.5" width={inner - 1} height={TALL - 1} fill="none" stroke="var(--line)" />
      {up}
      {piecesOf(day, inner).map((piece) => (
        <g key={piece.mark}>
          <rect x={piece.x} width={piece.width} height={TALL} fill="var(--surface)" />
          <rect x={piece.x} width={piece.width} height={TALL} fill={fills[piece.mark]} />
        </g>
      ))}
    </>
  );
}

function dayWords(day: Day): string {
  const parts = [
    day.down_ms > 0 && `down ${lasting(day.down_ms)}`,
    day.partial_ms > 0 && `partial ${lasting(day.partial_ms)}`,
    day.unknown_ms > 0 && `unknown ${lasting(day.unknown_ms)}`,
    day.excluded_ms > 0 && `maintenance ${lasting(day.excluded_ms)}`,
  ].filter(Boolean);
  return `${day.date}: ${pct(day.pct)}${parts.length > 0 ? `, ${parts.join(", ")}` : ""}`;
}

function DayTable({ days }: { days: readonly Day[] }) {
  const zero = (ms: number) => (ms > 0 ? lasting(ms) : "");
  return (
    <ScrollX label="Day by day as a table" maxHeight={380}>
      <table className="grid dense">
        <caption className="hidden-visually">Days, the latest first</caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            {["Achieved", "Down", "Partial", "Unknown", "Maintenance", "Outages", "p95"].map((word) => (
              <th key={word} scope="col" className="num">
                {word}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {[...days].reverse().map((day) => (
            <tr key={day.date}>
              <th scope="row" className="small-weight nowrap">
                {day.date}
              </th>
              <td className="num">{pct(day.pct)}</td>
              <td className="num">{zero(day.down_ms)}</td>
              <td className="num">{zero(day.partial_ms)}</td>
              <td className="num">{zero(day.unknown_ms)}</td>
              <td className="num">{zero(day.excluded_ms)}</td>
              <td className="num">{day.outages || ""}</td>
              <td className="num">{day.latency_p95_ms == null ? "" : `${Math.round(day.latency_p95_ms)}\u00a0ms`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}
