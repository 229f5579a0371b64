import { api, type Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { Failed, Loading } from "../../components/Status";
import type { Interval } from "../../components/Strip";
import { useTwin } from "../../components/Twin";
import { percent } from "../../lib/format";
import { amount, lasting, pct, sloWord } from "../../lib/slos";
import { epoch, utc, when, zoneLabel } from "../../lib/time";
import { verdictLane } from "../monitor/TimelineCard";
import { BudgetDrawing } from "./BudgetDrawing";
import { beginOf, stepFor, stepsOf } from "./budget";
import { periodWord, totalOf, unitOf } from "./words";

const resolutions = { "1h": "hour", "6h": "6\u00a0hours", "1d": "day" };

/** What is left of the budget over the window, on one axis with outages and states. */
export function BudgetCard({ slo, report, now }: { slo: Schemas["Slo"]; report: Schemas["SloReport"]; now: number }) {
  const twin = useTwin();
  const { start, watermark } = report.window;
  const [from, told] = [epoch(start) ?? 0, epoch(watermark) ?? 0];
  const begin = beginOf(report);
  const since = new Date(begin * 1000).toISOString();
  const step = stepFor(told - begin);
  const begun = told > begin;
  const zone = report.slo.window.timezone;
  const keep = { enabled: begun, placeholderData: <T,>(before: T) => before };
  const history = api.useQuery(
    "get",
    "/api/v1/slos/{id}/history",
    { params: { path: { id: slo.id }, query: { step, from: hour(since), to: watermark } } },
    keep,
  );
  const single = slo.subject === "monitor" ? (slo.monitor?.id ?? null) : null;
  const timeline = api.useQuery(
    "get",
    "/api/v1/monitors/{id}/timeline",
    { params: { path: { id: single ?? "" }, query: { from: since, to: watermark } } },
    { ...keep, enabled: begun && single !== null },
  );
  const passed = lasting((told - from) * 1000);
  return (
    <Card
      title={`Budget left, ${periodWord(report, now)}`}
      beside={
        <span>
          {lasting(report.window.length_ms)}
          {begin > from && `, watched since ${when(begin, now, zone)}`}
          {begin === from &&
            report.slo.window.kind !== "rolling" &&
            !report.window.complete &&
            `, of which ${passed} have passed`}
          {" · "}
          {zoneLabel(told, zone)}
        </span>
      }
      actions={history.data && twin.button}
      footer={
        history.data &&
        `One point each ${resolutions[step]}. The budget is ${amount(totalOf(report), unitOf(report))}${nominalWords(report)}${
          slo.window.kind === "rolling" ? "; as time leaves the window, what it used comes back." : "."
        }`
      }
    >
      {!history.data && history.isError && <Failed error={history.error} retry={() => void history.refetch()} />}
      {!history.data && !history.isError && <Loading rows={6} />}
      {history.data &&
        (twin.asTable ? (
          <HistoryTable history={history.data} zone={zone} now={now} />
        ) : (
          <BudgetDrawing
            report={report}
            steps={stepsOf(history.data, report)}
            states={timeline.data ? untilTold(verdictLane(timeline.data), watermark) : null}
            now={now}
          />
        ))}
    </Card>
  );
}

/** What the whole window would allow, where part of it was not watched. */
function nominalWords(report: Schemas["SloReport"]): string {
  const { nominal_ms, total_ms } = report.budget;
  if (nominal_ms == null || total_ms == null || nominal_ms - total_ms < 1000) return "";
  return `, of ${lasting(nominal_ms)} if all of the window were known`;
}

/** What lasts is drawn up to where figures are told, and not into the rest of the window. */
function untilTold(states: readonly Interval[], watermark: string): Interval[] {
  return states.map((piece) => ({ ...piece, to: piece.to ?? watermark }));
}

/** A rolling window's start moves with every second; the question moves with every hour. */
function hour(at: string): string {
  return new Date(Math.floor((epoch(at) ?? 0) / 3600) * 3_600_000).toISOString();
}

function HistoryTable({ history, zone, now }: { history: Schemas["SloHistory"]; zone: string; now: number }) {
  return (
    <ScrollX label="Budget left as a table" maxHeight={380}>
      <table className="grid dense">
        <caption className="hidden-visually">How it stood at each step, the latest first</caption>
        <thead>
          <tr>
            <th scope="col">At</th>
            <th scope="col" className="num">
              Budget left
            </th>
            <th scope="col" className="num">
              If the unknown was down
            </th>
            <th scope="col" className="num">
              Achieved
            </th>
            <th scope="col" className="num">
              Known
            </th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {[...history.points].reverse().map((point) => (
            <tr key={point.at}>
              <td className="nowrap" title={utc(point.at)}>
                {when(point.at, now, zone)}
              </td>
              <td className="num">{amount(point.budget_left, history.unit)}</td>
              <td className="num">
                {point.budget_left_worst == null ? "" : amount(point.budget_left_worst, history.unit)}
              </td>
              <td className="num">{pct(point.pct)}</td>
              <td className="num">{percent(point.coverage, 1)}</td>
              <td>{sloWord(point.state)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}
