import { useRef, useState } from "react";
import type { Schemas } from "../../api/client";
import { type Interval, StripRuns, stripSummary } from "../../components/Strip";
import { zoneTicks } from "../../lib/axis";
import { plural } from "../../lib/format";
import { amount, lasting } from "../../lib/slos";
import { day, epoch, hourMinute, when } from "../../lib/time";
import { useWidth } from "../../lib/useWidth";
import { beginOf, levels, openStretches, reach, runsOf, since, type Step } from "./budget";
import { leftOf, totalOf, unitOf } from "./words";

const ROW = 26;
const HEIGHT = 196;

interface Props {
  report: Schemas["SloReport"];
  steps: readonly Step[];
  /** States of the one monitor it is about; null when there are several or none. */
  states: readonly Interval[] | null;
  now: number;
}

/** Outages, states and what is left, on one axis over the whole window. Arrow keys move the cursor. */
export function BudgetDrawing({ report, steps, states, now }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const width = useWidth(host);
  const [cursor, setCursor] = useState<number | null>(null);
  const zone = report.slo.window.timezone;
  const unit = unitOf(report);
  const [from, to] = [beginOf(report), epoch(report.window.end) ?? 1];
  const left = width < 560 ? 64 : 148;
  const inner = Math.max(40, width - left - 16);
  const [low, high] = reach(steps, report);
  const rows = states ? 2 : 1;
  const top = rows * ROW + 16;
  const bottom = top + HEIGHT;
  const x = (at: number) => left + ((Math.min(to, Math.max(from, at)) - from) / (to - from)) * inner;
  const y = (value: number) => bottom - ((value - low) / (high - low || 1)) * HEIGHT;
  const point = cursor === null ? undefined : steps[cursor];
  const move = (by: number) =>
    setCursor((at) => (steps.length === 0 ? null : Math.max(0, Math.min(steps.length - 1, (at ?? steps.length) + by))));
  const toPointer = (event: React.PointerEvent) => {
    const px = event.clientX - (host.current?.getBoundingClientRect().left ?? 0);
    const at = from + ((px - left) / inner) * (to - from);
    setCursor(steps.length > 0 ? nearest(steps, at) : null);
  };
  return (
    <div className="chart chart-pad slo-chart">
      <div
        ref={host}
        role="img"
        tabIndex={0}
        style={{ minHeight: bottom + 24 }}
        aria-label={summary(report, steps, states, from, to)}
        onPointerMove={toPointer}
        onPointerLeave={() => setCursor(null)}
        onKeyDown={(event) => {
          if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
          event.preventDefault();
          move(event.key === "ArrowLeft" ? -1 : 1);
        }}
      >
        {width > 0 && (
          <svg width={width} height={bottom + 24} aria-hidden="true" style={{ display: "block" }}>
            {zoneTicks(from, to, zone, Math.max(2, Math.floor(inner / 90))).map((tick) => (
              <g key={tick.at}>
                <path d={`M${x(tick.at)} 0V${bottom}`} stroke="var(--line)" />
                <text
                  x={x(tick.at)}
                  y={bottom + 18}
                  textAnchor={x(tick.at) > width - 40 ? "end" : "middle"}
                  className="quiet"
                >
                  {tick.word}
                </text>
              </g>
            ))}
            {levels(low, high, unit).map((value) => (
              <g key={value}>
                <path d={`M${left} ${y(value)}H${left + inner}`} stroke={value === 0 ? "var(--edge)" : "var(--line)"} />
                <text x={left - 8} y={y(value) + 4} textAnchor="end" className="quiet">
                  {short(value, unit)}
                </text>
              </g>
            ))}
            <OutageLane report={report} x={x} end={left + inner} zone={zone} now={now} wide={width >= 560} />
            {states && (
              <>
                <text x={16} y={ROW + 17} className="head">
                  State
                </text>
                <StripRuns intervals={states} from={from} to={to} x={left} y={ROW + 5} width={inner} height={15} />
              </>
            )}
            {width >= 560 && <BudgetHead report={report} y={top + 12} />}
            <Lines
              wide={width >= 560}
              report={report}
              steps={steps}
              x={x}
              y={y}
              end={left + inner}
              zone={zone}
              now={now}
            />
            {point && <path d={`M${x(point.at)} 0V${bottom}`} stroke="var(--text3)" strokeDasharray="2 3" />}
          </svg>
        )}
      </div>
      <div className="chart-words">
        {point ? (
          <span aria-live="polite">{pointWords(point, unit, zone, now)}</span>
        ) : (
          <Legend report={report} open={openStretches(steps).length > 0} />
        )}
      </div>
    </div>
  );
}

function nearest(steps: readonly Step[], at: number): number {
  let best = 0;
  steps.forEach((step, i) => {
    if (Math.abs(step.at - at) < Math.abs((steps[best]?.at ?? 0) - at)) best = i;
  });
  return best;
}

/** A value of the axis: one unit is enough. */
function short(value: number, unit: string): string {
  return value === 0
    ? "0"
    : amount(value, unit)
        .replace(/ 00\s(s|min|h)$/, "")
        .replace(/\sevents?$/, "");
}

function BudgetHead({ report, y }: { report: Props["report"]; y: number }) {
  const unit = unitOf(report);
  return (
    <>
      <text x={16} y={y} className="head">
        Budget left
      </text>
      <text x={16} y={y + 18} className="quiet">
        {amount(leftOf(report), unit)}
      </text>
    </>
  );
}

/** Outages as ticks; their words stand beside where there is room for them. */
function OutageLane(props: {
  report: Props["report"];
  x: (at: number) => number;
  end: number;
  zone: string;
  now: number;
  wide: boolean;
}) {
  const { report, x, end, zone, now, wide } = props;
  let free = 0;
  return (
    <>
      <text x={16} y={17} className="head">
        {wide ? "Outages" : ""}
      </text>
      {report.outages.list.map((outage) => {
        const at = epoch(outage.start) ?? 0;
        const px = x(at);
        const words = `${day(at, now, zone)}, ${lasting(outage.downtime_ms)}${outage.ongoing ? " so far" : ""}`;
        const room = words.length * 6.4 + 12;
        const says = wide && px >= free && px + room < end;
        if (says) free = px + room;
        return (
          <g key={outage.start}>
            <rect x={px} y={5} width={Math.max(3, x(epoch(outage.end) ?? now) - px)} height={15} fill="var(--down)" />
            {says && (
              <text x={px + 8} y={17} className="halo">
                {words}
              </text>
            )}
          </g>
        );
      })}
    </>
  );
}

/** What was left, what it may be, even pace, and what comes of it. */
function Lines(props: {
  report: Props["report"];
  steps: readonly Step[];
  x: (at: number) => number;
  y: (value: number) => number;
  end: number;
  zone: string;
  now: number;
  wide: boolean;
}) {
  const { report, steps, x, y, end, zone, now, wide } = props;
  const total = totalOf(report);
  const left = leftOf(report);
  const told = epoch(report.window.watermark) ?? 0;
  const begun = since(steps);
  const running = !report.window.complete && report.slo.window.kind !== "rolling";
  const gone = epoch(report.budget.exhausts_at_if_down);
  const ongoing = report.outages.list.some((outage) => outage.ongoing);
  return (
    <>
      {openStretches(steps).map((open) => (
        <rect
          key={open.from}
          x={x(open.from)}
          width={Math.max(0, x(open.to) - x(open.from))}
          y={y(open.high)}
          height={Math.max(1, y(open.low) - y(open.high))}
          fill="url(#hatch-unknown)"
          opacity="0.8"
        />
      ))}
      {total !== null && begun !== null && report.slo.window.kind !== "rolling" && (
        <path d={`M${x(begun)} ${y(total)}L${end} ${y(0)}`} stroke="var(--text3)" strokeDasharray="1.5 4" fill="none" />
      )}
      {runsOf(steps).map((run) => (
        <path
          key={run[0]?.at}
          d={run.map((p, i) => (i === 0 ? `M${x(p.at)} ${y(p.left)}` : `H${x(p.at)}V${y(p.left)}`)).join("")}
          stroke="var(--text)"
          strokeWidth="1.75"
          fill="none"
        />
      ))}
      {running && left !== null && (
        <path d={`M${x(told)} ${y(left)}H${end}`} stroke="var(--text)" strokeDasharray="4 3" fill="none" />
      )}
      {running && ongoing && left !== null && left > 0 && gone !== null && (
        <>
          <path
            d={`M${x(told)} ${y(left)}L${Math.max(x(gone), x(told) + 2)} ${y(0)}`}
            stroke="var(--down)"
            strokeWidth="1.75"
            strokeDasharray="3 3"
            fill="none"
          />
          {/* Where there is no room the sentence above says it. */}
          {wide && (
            <text
              x={x(gone) > end - 200 ? x(told) - 8 : x(gone) + 8}
              y={y(0) - 6}
              textAnchor={x(gone) > end - 200 ? "end" : "start"}
              className="halo"
            >
              gone {day(gone, now, zone)} {hourMinute(gone, zone)} if it stays down
            </text>
          )}
        </>
      )}
    </>
  );
}

function Legend({ report, open }: { report: Props["report"]; open: boolean }) {
  const key = (dash: string, words: string, colour = "var(--text)") => (
    <span className="nowrap">
      <svg width="26" height="8" aria-hidden="true">
        <path d="M0 4h26" stroke={colour} strokeWidth="1.5" strokeDasharray={dash} />
      </svg>{" "}
      {words}
    </span>
  );
  const calendar = report.slo.window.kind !== "rolling";
  return (
    <span className="row wide">
      {key("", "what is left")}
      {calendar && key("1.5 4", "even pace", "var(--text3)")}
      {calendar && !report.window.complete && key("4 3", "if nothing more fails")}
      {open && (
        <span className="nowrap">
          <svg width="26" height="10" aria-hidden="true">
            <rect width="26" height="10" fill="url(#hatch-unknown)" />
          </svg>{" "}
          as low as this if the unknown time was down
        </span>
      )}
    </span>
  );
}

function pointWords(point: Step, unit: string, zone: string, now: number): string {
  const worst = point.worst === null ? "" : `, ${amount(point.worst, unit)} if the unknown time was down`;
  return `${when(point.at, now, zone)}: ${point.left === null ? "nothing can be said" : `${amount(point.left, unit)} left${worst}`}`;
}

/** Said instead of shown. */
function summary(
  report: Props["report"],
  steps: readonly Step[],
  states: Props["states"],
  from: number,
  to: number,
): string {
  const unit = unitOf(report);
  const until = epoch(report.window.watermark) ?? to;
  return [
    `Budget left: ${amount(leftOf(report), unit)} of ${amount(totalOf(report), unit)}, ${plural(report.outages.count, "outage")}`,
    openStretches(steps).length > 0 && "part of the time is unknown",
    states && `states: ${stripSummary(states, from, until)}`,
  ]
    .filter(Boolean)
    .join("; ");
}
