import { Link } from "react-router";
import type { Schemas } from "../../api/client";
import { StateWord } from "../../components/StateMark";
import { NONE } from "../../lib/format";
import { aboutOf, amount, firingWords, leftShare, ofWindow, pct, sloMark, sloWord } from "../../lib/slos";
import { clock, epoch, utc, zoneLabel } from "../../lib/time";
import { Actions } from "./Actions";
import { leftOf, sentence, standing, totalOf, unitOf } from "./words";

type Report = Schemas["SloReport"];

/** State, the sentence, and the three big numbers. */
export function Headline({ slo, report, now }: { slo: Schemas["Slo"]; report: Report | undefined; now: number }) {
  const about = aboutOf(slo);
  const zone = slo.window.timezone;
  const state = report?.state ?? slo.now?.state;
  const firing = report && firingWords(report.alerts);
  const told = epoch(report?.window.watermark);
  return (
    <>
      <div className="headline">
        <div>
          <div className="row wide state-line">
            <StateWord state={sloMark(state)} word={sloWord(state)} large />
            {firing && <b>{firing}</b>}
            <span className="muted">
              {slo.name}
              {slo.service && ` · ${slo.service}`} · {pct(slo.target_pct)} of {ofWindow(slo.window)}
              {told !== null && (
                <span title={utc(told)}>
                  {" "}
                  · measured to {clock(told, zone)} {zoneLabel(told, zone)}
                </span>
              )}
            </span>
          </div>
          <h1>
            {report ? sentence(report, about.length === 1 ? (about[0]?.word ?? slo.name) : slo.name, now) : slo.name}
          </h1>
          {report && <p className="lead">{standing(report)}</p>}
          <p className="small soft">
            Of{" "}
            {about.slice(0, 6).map((one, i) => (
              <span key={one.to ?? one.word}>
                {i > 0 && ", "}
                {one.to ? <Link to={one.to}>{one.word}</Link> : one.word}
              </span>
            ))}
            {about.length > 6 && ` and ${about.length - 6} more`}
            {slo.description && ` · ${slo.description}`}
          </p>
        </div>
        <Actions slo={slo} />
      </div>
      {report && <Big report={report} />}
    </>
  );
}

function Big({ report }: { report: Report }) {
  const unit = unitOf(report);
  const { availability, budget, slo, window } = report;
  const met = availability.met;
  const standingWord =
    report.state === "no_data"
      ? "achieved; insufficient data, no verdict"
      : met == null
        ? "achieved"
        : window.complete || slo.window.kind === "rolling"
          ? `achieved, ${met ? "met" : "missed"}`
          : `achieved to date, ${availability.attainment_to_date ? "met so far" : "below so far"}`;
  const figures: [string, string, string][] = [
    ["objective", pct(slo.target_pct), `objective, of ${windowWordOf(report)}`],
    ["achieved", pct(availability.pct), standingWord],
    [
      "left",
      // Before anything was measured a whole budget would be a claim.
      availability.pct == null ? NONE : amount(leftOf(report), unit),
      availability.pct == null
        ? "budget left; nothing was measured yet"
        : `budget left, ${leftShare(budget.remaining_ratio)} of ${amount(totalOf(report), unit)}`,
    ],
  ];
  return (
    <dl className="card figures three" aria-label="The three numbers">
      {figures.map(([key, value, means]) => (
        <div key={key}>
          <dt>{means}</dt>
          <dd data-figure={key}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function windowWordOf(report: Report): string {
  const { kind, duration, timezone } = report.slo.window;
  return ofWindow({ kind, duration, timezone });
}
