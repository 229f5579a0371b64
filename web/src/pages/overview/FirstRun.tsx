import { useState } from "react";
import { Link, useNavigate } from "react-router";
import type { Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button, ButtonLink } from "../../components/Button";
import { Card } from "../../components/Card";
import { StateMark, StateWord } from "../../components/StateMark";
import { count, list } from "../../lib/format";
import { Enrol } from "../locations/Enrol";
import { LocationForm } from "../locations/LocationForm";
import { kinds } from "../alerting/kinds";

type Overview = Schemas["Overview"];

/** First steps: three of them, in any order; what is left out stays until it is done. */
export function FirstRun({ overview, channels }: { overview: Overview; channels: readonly Schemas["Channel"][] }) {
  const role = useRole();
  const real = overview.locations.filter((l) => !l.simulated);
  return (
    <>
      <div className="headline">
        <div>
          <h1>{firstSentence(overview, channels)}</h1>
          <p className="lead">
            Any order works; what you leave out stays here until it is done.
            {overview.locations.some((l) => l.simulated) &&
              ` ${overview.locations.filter((l) => l.simulated).length} simulated locations already run on this machine, so that everything can be tried at once.`}
          </p>
        </div>
      </div>
      <Watch overview={overview} editor={role("editor")} />
      <Tell channels={channels} editor={role("editor")} />
      <Locate real={real} admin={role("admin")} />
      <WhoVotes overview={overview} />
    </>
  );
}

function firstSentence(overview: Overview, channels: readonly Schemas["Channel"][]): string {
  const watched = overview.counts.total;
  if (watched === 0)
    return channels.length === 0
      ? "Nothing is watched yet. Three steps, about five minutes."
      : "Nothing is watched yet.";
  const first = overview.monitors[0]?.name ?? "One endpoint";
  const what = watched === 1 ? `${first} is watched` : `${count(watched)} monitors are watched`;
  return channels.length === 0 ? `${what}, but nobody is told.` : `${what}.`;
}

function Step({
  n,
  done,
  title,
  beside,
  children,
}: {
  n: number;
  done: boolean;
  title: string;
  beside?: string;
  children: React.ReactNode;
}) {
  return (
    <section className="card step" aria-label={title}>
      <div className="step-number">{done ? <StateMark state="up" size={18} label="done" /> : n}</div>
      <div className="stack">
        <h2>
          {title}
          {done ? ": done" : ""} {beside && <span className="muted small-weight">{beside}</span>}
        </h2>
        {children}
      </div>
    </section>
  );
}

function Watch({ overview, editor }: { overview: Overview; editor: boolean }) {
  const navigate = useNavigate();
  const [url, setUrl] = useState("");
  const watched = overview.monitors.slice(0, 5);
  const done = overview.counts.total > 0;
  return (
    <Step n={1} done={done} title="Watch an endpoint">
      {watched.map((monitor) => (
        <p key={monitor.id} className="row">
          <StateWord state={monitor.state} /> <Link to={`/monitors/${monitor.id}`}>{monitor.name}</Link>{" "}
          <span className="muted mono">{monitor.target}</span>
        </p>
      ))}
      {editor ? (
        <form
          className="row"
          onSubmit={(event) => {
            event.preventDefault();
            if (url.trim() !== "") navigate(`/monitors/new?url=${encodeURIComponent(url.trim())}`);
          }}
        >
          <input
            className="query wide-query"
            aria-label="Address to watch"
            inputMode="url"
            placeholder="https://shop.example/health"
            value={url}
            onChange={(event) => setUrl(event.currentTarget.value)}
          />
          <Button primary={!done} type="submit">
            Try it
          </Button>
        </form>
      ) : (
        <p>An editor can add one.</p>
      )}
      <p className="small soft">
        Nothing is saved yet: Quorate asks once from each location and shows how soon an outage would be seen.
      </p>
    </Step>
  );
}

function Tell({ channels, editor }: { channels: readonly Schemas["Channel"][]; editor: boolean }) {
  const done = channels.length > 0;
  return (
    <Step n={2} done={done} title="Be told" beside={done ? list(channels.map((c) => c.name)) : undefined}>
      {editor ? (
        <div className="choices two-wide">
          {kinds.map((kind) => (
            <Link key={kind.kind} to={`/alerting?add=${kind.kind}`} className="choice">
              {kind.word}
              <span className="small soft" style={{ display: "block" }}>
                {kind.says}
              </span>
            </Link>
          ))}
        </div>
      ) : (
        <p>An editor can add a channel.</p>
      )}
      <p className="small soft">A test message is sent at once, and the other side's answer is shown.</p>
    </Step>
  );
}

function Locate({ real, admin }: { real: readonly Schemas["Location"][]; admin: boolean }) {
  const [location, setLocation] = useState<Schemas["Location"] | null>(null);
  const online = real.filter((l) => l.health === "online");
  return (
    <Step
      n={3}
      done={online.length > 0}
      title="Add a real location"
      beside={
        online.length > 0
          ? list(online.map((l) => l.name))
          : "any small machine elsewhere; outgoing HTTPS is enough, no port is opened"
      }
    >
      {!admin ? (
        <p>An administrator can add one.</p>
      ) : location ? (
        <Enrol location={location} />
      ) : online.length > 0 ? (
        <div className="actions">
          <ButtonLink to="/locations?add=1">Add another</ButtonLink>
        </div>
      ) : (
        <LocationForm brief done={setLocation} />
      )}
    </Step>
  );
}

/** Who votes, and what that is worth. */
function WhoVotes({ overview }: { overview: Overview }) {
  const simulated = overview.locations.filter((l) => l.simulated && l.enabled);
  const real = overview.locations.filter((l) => !l.simulated && l.enabled);
  const watched = overview.counts.total > 0;
  return (
    <Card title="Who votes" beside={watched ? undefined : "nobody yet: nothing is watched"}>
      <table className="grid folds">
        <caption className="hidden-visually">Locations and what their word is worth</caption>
        <thead>
          <tr>
            <th scope="col">Location</th>
            <th scope="col">Network</th>
            <th scope="col">Votes</th>
            <th scope="col">What its word is worth</th>
          </tr>
        </thead>
        <tbody>
          {simulated.length > 0 && (
            <tr>
              <th scope="row">
                <span className="state">
                  <StateMark state={simulated.every((l) => l.health === "online") ? "up" : "pending"} />{" "}
                  {list(simulated.map((l) => l.name))}
                </span>
              </th>
              <td className="second">this machine, all of them</td>
              <td>{watched ? "yes, marked simulated" : "as soon as something is watched"}</td>
              <td className="second soft">
                whether this machine reaches you; the map is pretended, the answers are real
              </td>
            </tr>
          )}
          {real.map((l) => (
            <tr key={l.id}>
              <th scope="row">
                <span className="state">
                  <StateMark state={l.health} /> {l.name}
                </span>
              </th>
              <td className="second">{l.domain}</td>
              <td>{l.health === "online" ? "yes" : "not yet"}</td>
              <td className="second soft">whether {l.region} reaches you</td>
            </tr>
          ))}
          {real.length === 0 && (
            <tr>
              <th scope="row">
                <span className="state">
                  <StateMark state="pending" /> the first real one
                </span>
              </th>
              <td className="second">–</td>
              <td>missing</td>
              <td className="second">step 3</td>
            </tr>
          )}
        </tbody>
      </table>
    </Card>
  );
}
