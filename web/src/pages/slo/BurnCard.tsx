import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { StateWord } from "../../components/StateMark";
import { NONE, percent } from "../../lib/format";
import { utc, when } from "../../lib/time";
import { lookbackWord, times } from "./words";

type Burn = Schemas["SloBurn"];
type Alert = Schemas["SloAlert"];

/** Rules against their mark, and how fast the budget burns over each lookback. */
export function BurnCard({ report, now }: { report: Schemas["SloReport"]; now: number }) {
  const rate = new Map(report.burn.map((burn) => [burn.lookback, burn]));
  return (
    <Card
      title="Burn"
      beside="1 uses up just the whole budget by the end; a rule fires when both of its spans pass its mark"
      footer="A rule of which less than half of its short span is known is frozen: it neither fires nor ends."
    >
      {report.alerts.length > 0 && (
        <ScrollX label="Burn rules">
          <table className="grid dense">
            <caption className="hidden-visually">Burn rules</caption>
            <thead>
              <tr>
                <th scope="col">Rule</th>
                <th scope="col">Tells</th>
                <th scope="col">Spans</th>
                <th scope="col" className="num">
                  Mark
                </th>
                <th scope="col">Long above short</th>
                <th scope="col" className="num">
                  Now
                </th>
                <th scope="col">State</th>
              </tr>
            </thead>
            <tbody>
              {report.alerts.map((alert) => (
                <Rule
                  key={alert.rule}
                  alert={alert}
                  long={rate.get(alert.long)}
                  short={rate.get(alert.short)}
                  now={now}
                />
              ))}
            </tbody>
          </table>
        </ScrollX>
      )}
      {report.alerts.length === 0 && <p className="empty">No burn rules: nobody is told while the budget burns.</p>}
      <ScrollX label="Burn by lookback">
        <table className="grid dense lookbacks">
          <caption className="hidden-visually">Burn rate and how much is known, by lookback</caption>
          <thead>
            <tr>
              <th scope="col">Lookback</th>
              {report.burn.map((burn) => (
                <th key={burn.lookback} scope="col" className="num">
                  {lookbackWord(burn.lookback)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">Rate</th>
              {report.burn.map((burn) => (
                <td key={burn.lookback} className="num">
                  {times(burn.rate)}
                </td>
              ))}
            </tr>
            <tr>
              <th scope="row">Known</th>
              {report.burn.map((burn) => (
                <td key={burn.lookback} className="num soft">
                  {percent(burn.coverage, 0)}
                </td>
              ))}
            </tr>
          </tbody>
        </table>
      </ScrollX>
    </Card>
  );
}

function Rule(props: { alert: Alert; long: Burn | undefined; short: Burn | undefined; now: number }) {
  const { alert, long, short, now } = props;
  const rates = [long?.rate ?? null, short?.rate ?? null];
  return (
    <tr>
      <th scope="row">{alert.rule}</th>
      <td>{alert.severity}</td>
      <td className="nowrap">
        {lookbackWord(alert.long)} and {lookbackWord(alert.short)}
      </td>
      <td className="num">{times(alert.factor)}</td>
      <td>
        <Bars rates={rates} mark={alert.factor ?? null} firing={alert.firing} />
      </td>
      <td className="num">
        {long ? times(long.rate) : NONE} / {short ? times(short.rate) : NONE}
      </td>
      <td className="nowrap">
        {alert.firing ? <StateWord state="down" word="Firing" /> : <span className="muted">quiet</span>}
        {alert.since && (
          <span className="muted small" title={utc(alert.since)}>
            {" "}
            since {when(alert.since, now)}
          </span>
        )}
        {alert.frozen && (
          <>
            {" "}
            <span className="tag" title="Too little is known of its short span to change anything.">
              frozen
            </span>
          </>
        )}
      </td>
    </tr>
  );
}

const WIDE = 150;

/** Two bars against one mark, which stands at a third; what is beyond three times the mark is cut. */
function Bars({ rates, mark, firing }: { rates: (number | null)[]; mark: number | null; firing: boolean }) {
  if (mark === null || mark <= 0) return null;
  return (
    <svg width={WIDE} height="16" aria-hidden="true" style={{ display: "block" }}>
      <rect width={WIDE} height="16" fill="var(--sunken)" />
      {rates.map((rate, i) => (
        <rect
          key={i === 0 ? "long" : "short"}
          y={i === 0 ? 1 : 9}
          width={Math.min(1, (rate ?? 0) / (mark * 3)) * WIDE}
          height="6"
          fill={firing ? "var(--down)" : "var(--text3)"}
          opacity={i === 0 ? 1 : 0.6}
        />
      ))}
      <path d={`M${WIDE / 3} 0v16`} stroke="var(--text)" strokeWidth="1.5" />
    </svg>
  );
}
