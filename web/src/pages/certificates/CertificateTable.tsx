import { Link } from "react-router";
import { ScrollX } from "../../components/ScrollX";
import { colour, StateWord } from "../../components/StateMark";
import {
  along,
  capital,
  lateWords,
  leftWords,
  markOfCertificate,
  namesWords,
  placesWords,
  renewalWords,
  seenWords,
  type Shown,
} from "../../lib/certificates";
import { markOf } from "../../lib/states";
import { ago, dayMinute, utc, zoneLabel } from "../../lib/time";

/** Certificates as rows, each with a bar of its days; on a phone each is a card of a few lines. */
export function CertificateTable(props: {
  items: readonly Shown[];
  now: number;
  here: string | null;
  keyOf: (one: Shown) => string;
}) {
  return (
    <ScrollX label="Certificates">
      <table className="grid folds certificates">
        <caption className="hidden-visually">
          Certificates that are shown now, those that end first before others
        </caption>
        <thead>
          <tr>
            <th scope="col">Left</th>
            <th scope="col">Monitor</th>
            <th scope="col">
              <Axis />
            </th>
            <th scope="col">Ends, {zoneLabel(props.now)}</th>
            <th scope="col">Renewal</th>
            <th scope="col">Issuer</th>
            <th scope="col">Shown to</th>
          </tr>
        </thead>
        <tbody>
          {props.items.map((one) => (
            <Row key={props.keyOf(one)} id={props.keyOf(one)} one={one} now={props.now} here={props.here} />
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

function Row({ one, id, now, here }: { one: Shown; id: string; now: number; here: string | null }) {
  const mark = markOfCertificate(one);
  const calm = mark === "up";
  const left = leftWords(one.days_left);
  const words = one.valid || one.days_left < 0 ? capital(left) : `Not valid, ${left}`;
  const differs = one.certificates > 1;
  return (
    <tr data-row={id} className={`${calm ? "" : `edged edge-${markOf(mark)}`}${here === id ? " here" : ""}`}>
      <td className="nowrap">{calm ? <b>{words}</b> : <StateWord state={mark} word={words} />}</td>
      <th scope="row" className="name">
        <Link to={`/monitors/${one.monitor.id}`}>{one.monitor.name}</Link>
        <span className="small muted small-weight break of-what">{namesWords(one)}</span>
        {one.problem && <span className="small small-weight break of-what">{one.problem}</span>}
      </th>
      <td className="off">
        <Bar days={one.days_left} habit={one.renewed_days_left} mark={mark} />
      </td>
      <td className="second nowrap" title={`${utc(one.not_after)}; fingerprint ${one.fingerprint}`}>
        <span className="phone-only">ends </span>
        {dayMinute(one.not_after, now)}
        {one.incident && (
          <Link className="small told" to={`/incidents/${one.incident}`}>
            told
          </Link>
        )}
      </td>
      <td className={lateWords(one) ? "second strong" : "off soft"}>{renewalWords(one)}</td>
      <td className="second" title={one.issuer_name}>
        <span className="phone-only">by </span>
        {one.issuer}
      </td>
      <td className="second" title={placesWords(one)}>
        <span className={differs ? "strong" : undefined}>{seenWords(one)}</span>
        <span className="small muted of-what break">
          {differs && `${placesWords(one)}; others are shown another; `}first seen {ago(one.since, now)}
        </span>
      </td>
    </tr>
  );
}

const WIDTH = 190;
const TICKS = [7, 30, 90, 398];

/** The heads of the axis: square roots, so that the last days are wider. */
function Axis() {
  return (
    <svg className="days-axis" width={WIDTH} height="16" viewBox={`0 0 ${WIDTH} 16`} role="img" aria-label="Days left">
      <text x="0" y="12">
        0
      </text>
      {TICKS.map((days) => (
        <text key={days} x={along(days) * WIDTH} y="12" textAnchor={days === 398 ? "end" : "middle"}>
          {days === 398 ? "398\u00a0d" : days}
        </text>
      ))}
    </svg>
  );
}

/** The days that are left, on the axis of the head; a tick where it was renewed last time. Both stand in words too. */
function Bar({ days, habit, mark }: { days: number; habit: number | null | undefined; mark: string }) {
  return (
    <svg className="days-bar" width={WIDTH} height="20" viewBox={`0 0 ${WIDTH} 20`} aria-hidden="true">
      {TICKS.map((tick) => (
        <line
          key={tick}
          x1={Math.min(along(tick) * WIDTH, WIDTH - 0.5)}
          x2={Math.min(along(tick) * WIDTH, WIDTH - 0.5)}
          y1="2"
          y2="18"
          stroke="var(--line)"
        />
      ))}
      <rect
        x="0"
        y="7"
        width={along(days) * WIDTH}
        height="6"
        fill={mark === "up" ? "var(--text3)" : colour(markOf(mark))}
      />
      {habit !== null && habit !== undefined && (
        <rect x={along(habit) * WIDTH - 1} y="2" width="2" height="16" fill="var(--text)" />
      )}
    </svg>
  );
}
