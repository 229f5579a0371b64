import { Link } from "react-router";
import type { ReactNode } from "react";
import type { Schemas } from "../../api/client";
import { ScrollX } from "../../components/ScrollX";
import { StateWord } from "../../components/StateMark";
import { plural } from "../../lib/format";
import { useNow } from "../../lib/ticker";
import { ago, dayMinute, utc, zoneLabel } from "../../lib/time";
import { cronText, lastSaid } from "./words";

type Schedule = Schemas["ReportSchedule"];

/** Schedules: of what, when, to whom, and how the last delivery went. */
export function ScheduleTable(props: {
  schedules: readonly Schedule[];
  /** Who gets what goes through a channel, by its id. */
  recipients: ReadonlyMap<string, string>;
  actions: (schedule: Schedule) => ReactNode;
}) {
  return (
    <ScrollX label="Schedules">
      <table className="grid folds schedules">
        <caption className="hidden-visually">Schedules, by name</caption>
        <thead>
          <tr>
            <th scope="col">Schedule</th>
            <th scope="col">Of</th>
            <th scope="col">When</th>
            <th scope="col">Next three</th>
            <th scope="col">Goes to</th>
            <th scope="col">Last delivery</th>
            <th scope="col">
              <span className="hidden-visually">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {props.schedules.map((one) => (
            <Row key={one.id} schedule={one} to={props.recipients.get(one.channel)} actions={props.actions(one)} />
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

function Row({ schedule, to, actions }: { schedule: Schedule; to: string | undefined; actions: ReactNode }) {
  const now = useNow();
  const said = lastSaid(schedule.last);
  const refused = said.mark === "down";
  return (
    <tr className={refused ? "edged edge-down" : undefined}>
      <th scope="row" className="break">
        {schedule.name}
        {schedule.customer && <span className="muted small-weight"> for {schedule.customer}</span>}
      </th>
      <td className="second">
        <Slos slos={schedule.slos} />
      </td>
      <td className="second soft">
        {cronText(schedule.cron)}, <span className="nowrap">{schedule.timezone}</span>
      </td>
      <td className="second">
        {schedule.enabled ? (
          <Upcoming schedule={schedule} now={now} />
        ) : (
          <StateWord state="paused" word="Switched off" />
        )}
      </td>
      <td className="off soft">
        {schedule.channel_name}
        {to && <span className="small muted said">{to}</span>}
      </td>
      <td className="second">
        <span className="row">
          <StateWord state={said.mark} word={said.word} />
          {schedule.last && (
            <span className="muted small" title={utc(schedule.last.made_at)}>
              {ago(schedule.last.made_at, now)}
            </span>
          )}
          <span className="phone-only muted">through {schedule.channel_name}</span>
        </span>
        {schedule.last?.answer && said.mark !== "up" && (
          <span className="small soft break said">{schedule.last.answer}</span>
        )}
      </td>
      <td className="num end">{actions}</td>
    </tr>
  );
}

const SHOWN = 3;

function Slos({ slos }: { slos: Schedule["slos"] }) {
  if (slos.length === 0) return <span className="muted">Its SLOs were deleted</span>;
  const shown = slos.length > SHOWN + 1 ? slos.slice(0, SHOWN) : slos;
  return (
    <>
      {shown.map((slo, i) => (
        <span key={slo.id}>
          {i > 0 && ", "}
          <Link to={`/slos/${slo.id}`}>{slo.name}</Link>
        </span>
      ))}
      {shown.length < slos.length && (
        <span
          className="muted"
          title={slos
            .slice(SHOWN)
            .map((slo) => slo.name)
            .join(", ")}
        >
          {" "}
          and {plural(slos.length - SHOWN, "more", "more")}
        </span>
      )}
    </>
  );
}

function Upcoming({ schedule, now }: { schedule: Schedule; now: number }) {
  const [first, ...rest] = schedule.upcoming;
  if (!first) return null;
  return (
    <>
      <span className="nowrap" title={utc(first)}>
        {dayMinute(first, now, schedule.timezone)} {zoneLabel(first, schedule.timezone).split(",")[0]}
      </span>
      <span className="small muted said wide-said">
        then {rest.map((at) => dayMinute(at, now, schedule.timezone)).join(" and ")}
      </span>
    </>
  );
}
