import { Link } from "react-router";
import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { StateWord } from "../../components/StateMark";
import { Timeline } from "../../components/Timeline";
import { useTwin } from "../../components/Twin";
import { count, duration, NONE, odds, plural } from "../../lib/format";
import { epoch, utc, when, zoneLabel } from "../../lib/time";
import { delayWords, heard, lanes, laneWord, lasted, toldWords } from "./words";

type Replay = Schemas["Replay"];

/** What a policy would have made of the span: the lanes, the numbers, and what to bear in mind. */
export function Result({ monitor, replay }: { monitor: Schemas["Monitor"]; replay: Replay }) {
  const twin = useTwin();
  const from = epoch(replay.from) ?? 0;
  const to = epoch(replay.to) ?? from + 1;
  return (
    <>
      <Card
        title="Incidents"
        beside={`${when(from)} – ${when(to)} ${zoneLabel(to)} · ${plural(replay.results, "result")}; dashed is missed`}
        actions={twin.button}
        footer={replay.caveats.length > 0 && <Caveats of={replay.caveats} />}
      >
        {twin.asTable ? (
          <IncidentsTable replay={replay} />
        ) : (
          <div className="body">
            <Timeline lanes={lanes(replay)} from={from} to={to} />
          </div>
        )}
      </Card>
      <Numbers replay={replay} />
      <Troubles monitor={monitor} replay={replay} />
    </>
  );
}

function Caveats({ of }: { of: readonly string[] }) {
  return (
    <ul className="stack tight plain" aria-label="To bear in mind">
      {of.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

function Numbers({ replay }: { replay: Replay }) {
  return (
    <Card title="In numbers" beside="worst cases by the formulas, the rest as it came in this span">
      <div className="scroll-x">
        <table className="grid dense">
          <caption className="hidden-visually">What happened and what policies would have made of it</caption>
          <thead>
            <tr>
              <th scope="col">Policy</th>
              <th scope="col" className="num">
                Full outage
                <br />
                seen within
              </th>
              <th scope="col" className="num">
                Recovery
                <br />
                told within
              </th>
              <th scope="col" className="num">
                False alerts,
                <br />
                about
              </th>
              <th scope="col" className="num">
                Incidents
              </th>
              <th scope="col" className="num">
                Messages to
                <br />
                each channel
              </th>
              <th scope="col" className="num">
                Told after,
                <br />
                half / longest
              </th>
              <th scope="col" className="num">
                Under
                <br />5 min
              </th>
              <th scope="col" className="num">
                Only here
              </th>
              <th scope="col" className="num">
                Missed
              </th>
            </tr>
          </thead>
          <tbody>
            {replay.lanes.map((lane) => {
              const { name, about } = laneWord(lane);
              const { sums } = lane;
              return (
                <tr key={lane.key} className={lane.key === "tried" ? "chosen strong" : undefined}>
                  <th scope="row" className={lane.key === "tried" ? "" : "small-weight"}>
                    {name} {about && <span className="muted small-weight">{about}</span>}
                  </th>
                  <td className="num">{lane.odds ? duration(lane.odds.detection_worst_s) : NONE}</td>
                  <td className="num">{lane.odds ? duration(lane.odds.recovery_worst_s) : NONE}</td>
                  <td className="num">{lane.odds ? odds(lane.odds.false_alerts_per_month) : NONE}</td>
                  <td className="num">{count(sums.incidents)}</td>
                  <td className="num">{count(sums.told)}</td>
                  <td className="num nowrap">
                    {sums.delay_median_ms == null
                      ? NONE
                      : `${delayWords(sums.delay_median_ms)} / ${delayWords(sums.delay_longest_ms)}`}
                  </td>
                  <td className="num">{count(sums.brief)}</td>
                  <td className="num">{count(sums.alone)}</td>
                  <td className="num">{count(sums.missed)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

/** Each trouble: what happened beside what the tried policy makes of it. */
function Troubles({ monitor, replay }: { monitor: Schemas["Monitor"]; replay: Replay }) {
  const real = replay.lanes.findIndex((lane) => lane.key === "real");
  const tried = replay.lanes.findIndex((lane) => lane.key === "tried");
  if (replay.troubles.length === 0) return null;
  return (
    <Card title="One by one" beside={plural(replay.troubles.length, "trouble")}>
      <table className="grid dense folds">
        <caption className="hidden-visually">Troubles of {monitor.name} in this span</caption>
        <thead>
          <tr>
            <th scope="col">Began</th>
            <th scope="col">Lasted</th>
            <th scope="col">What happened</th>
            <th scope="col">Tried</th>
          </tr>
        </thead>
        <tbody>
          {replay.troubles.map((trouble) => {
            const own = (trouble.incidents[real] ?? []).map((at) => replay.lanes[real]?.incidents[at]);
            const id = own.find((one) => one?.id)?.id;
            const words = toldWords(replay, trouble, real);
            return (
              <tr key={trouble.from}>
                <th scope="row" className="nowrap" title={utc(trouble.from)}>
                  {when(trouble.from)}
                </th>
                <td className="nowrap end">{lasted(trouble, replay.to)}</td>
                <td className="second">{id ? <Link to={`/incidents/${id}`}>{words}</Link> : words}</td>
                <td className="second">
                  {heard(replay, trouble, tried).length > 0 ? (
                    toldWords(replay, trouble, tried)
                  ) : (
                    <StateWord state="unknown" word={toldWords(replay, trouble, tried)} />
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Card>
  );
}

function IncidentsTable({ replay }: { replay: Replay }) {
  const rows = replay.lanes.flatMap((lane) => lane.incidents.map((one) => ({ lane, one })));
  rows.sort((a, b) => a.one.started_at.localeCompare(b.one.started_at));
  return (
    <div className="scroll-x" style={{ maxHeight: 420, overflowY: "auto" }}>
      <table className="grid dense">
        <caption className="hidden-visually">Incidents of all lanes, the earliest first</caption>
        <thead>
          <tr>
            <th scope="col">Began</th>
            <th scope="col">Lane</th>
            <th scope="col">Severity</th>
            <th scope="col">Told after</th>
            <th scope="col">Lasted</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ lane, one }) => (
            <tr key={`${lane.key}${one.opened_at}`}>
              <td className="nowrap" title={utc(one.started_at)}>
                {when(one.started_at)}
              </td>
              <td>{laneWord(lane).name}</td>
              <td>
                <StateWord state={one.suppressed ? "maintenance" : one.peak} />
              </td>
              <td className="nowrap">{delayWords(one.delay_ms)}</td>
              <td className="nowrap">{lasted({ from: one.started_at, to: one.ended_at, incidents: [] }, replay.to)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
