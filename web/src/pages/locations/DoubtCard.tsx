import type { ReactNode } from "react";
import { Link } from "react-router";
import type { Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { StateMark } from "../../components/StateMark";
import { count, duration, NBSP, offset, plural, span } from "../../lib/format";
import { dayMinute, epoch } from "../../lib/time";
import { lastHeard, worstClock } from "./words";

type Location = Schemas["Location"];

/** Why one location is not believed: sign by sign, what is withheld of it, and what comes. */
export function DoubtCard(props: {
  location: Location;
  now: number;
  act: { believe: () => void; take: () => void } | null;
}) {
  const { location, now, act } = props;
  const { doubt, trust } = location;
  const distrusted = trust?.kind === "distrust";
  const aside = distrusted || (location.health === "quarantined" && doubt?.quarantined_since != null);
  const since = epoch(distrusted ? trust.set_at : (doubt?.quarantined_since ?? doubt?.since));
  return (
    <Card
      title={aside ? `Why ${location.name} is not believed` : `Why ${location.name} is in doubt`}
      beside={since === null ? undefined : `since ${dayMinute(since, now)}, ${duration(now - since)}`}
      edge={aside ? "quarantined" : "partial"}
      actions={
        act &&
        (trust ? (
          <Button onClick={act.take}>Take the word back</Button>
        ) : (
          <Button onClick={act.believe}>Believe it anyway…</Button>
        ))
      }
    >
      <dl className="facts body">
        {trust && (
          <Fact name="By hand">
            {trust.kind === "believe" ? "Believed" : "Not believed"} until {dayMinute(epoch(trust.until) ?? now, now)}:{" "}
            {trust.reason} ({trust.set_by})
          </Fact>
        )}
        {doubt && doubt.reasons.length > 0 && (
          <Fact name="Found">
            {doubt.reasons.join("; ")}, last {dayMinute(epoch(doubt.last_found_at) ?? now, now)}
          </Fact>
        )}
        <Fact name="References">
          <References location={location} />
        </Fact>
        <Fact name="Against the majority">
          <Dissents location={location} now={now} />
        </Fact>
        <Fact name="Heard, clock">
          <Heard location={location} now={now} />
        </Fact>
        <Fact name="Withheld">{withheld(location, aside, now)}</Fact>
        {doubt && (
          <Fact name="What comes">
            <Release doubt={doubt} now={now} />
          </Fact>
        )}
      </dl>
    </Card>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function References({ location }: { location: Location }) {
  if (location.references.length === 0)
    return <>Fewer than three are set on its agents, so this sign is off. Name some with --reference.</>;
  return (
    <ul>
      {location.references.flatMap((agent) =>
        agent.targets.map((target) => (
          <li key={`${agent.agent} ${target.target}`} className="row">
            <StateMark state={target.ok ? "up" : "down"} label={target.ok ? "reached" : "not reached"} />
            <span>
              {target.target}
              {target.message && <span className="muted"> {target.message}</span>}
            </span>
          </li>
        )),
      )}
    </ul>
  );
}

function Dissents({ location, now }: { location: Location; now: number }) {
  if (location.dissent_count === 0) return <>It agrees with the others everywhere.</>;
  const more = location.dissent_count - location.dissents.length;
  return (
    <>
      {plural(location.dissent_count, "monitor")} that most locations see up:{" "}
      {location.dissents.map((one, i) => (
        <span key={one.monitor}>
          {i > 0 && ", "}
          <Link to={`/monitors/${one.monitor}`}>{one.name}</Link>
          <span className="muted"> for {duration(now - (epoch(one.since) ?? now))}</span>
        </span>
      ))}
      {more > 0 && ` and ${count(more)} more`}
    </>
  );
}

function Heard({ location, now }: { location: Location; now: number }) {
  const heard = lastHeard(location);
  const drift = worstClock(location);
  return (
    <>
      {heard === null ? "never" : `${duration(now - heard)} ago`}, clock {offset(drift)}
      {drift !== null && Math.abs(drift) > 30_000 && ": failures by the date of a certificate are not judged from here"}
    </>
  );
}

/** What does not count, from when, and how finely old figures can leave it out. */
function withheld(location: Location, aside: boolean, now: number): string {
  if (!aside) return "Nothing: its votes count.";
  if (location.trust?.kind === "distrust") return "Its votes. Its results stay in its own figures.";
  const from = epoch(location.doubt?.withheld_from);
  const results = from === null ? "" : `, and its results since ${dayMinute(from, now)} in its own figures`;
  return `Its votes${results}; where only sums of quarter hours are left, every quarter hour that this touches. Incidents and alerts already made stay as they are.`;
}

/** Clean rounds as boxes that fill, and the earliest end. */
function Release({ doubt, now }: { doubt: Schemas["LocationDoubt"]; now: number }) {
  const at = epoch(doubt.release_at) ?? now;
  const done = Math.min(doubt.clean_rounds, doubt.needed_rounds);
  return (
    <>
      <span role="img" aria-label={`${done} of ${doubt.needed_rounds} clean rounds`} className="rounds">
        {Array.from({ length: doubt.needed_rounds }, (_, i) => (
          <i key={i} className={i < done ? "done" : undefined} />
        ))}
      </span>{" "}
      {done} of {doubt.needed_rounds} clean rounds of 30{NBSP}s, and {span(doubt.hold_s)} without a sign. Over at{" "}
      {dayMinute(Math.max(at, now), now)} if nothing more is found.
    </>
  );
}
