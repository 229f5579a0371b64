import { Menu } from "@mantine/core";
import type { Schemas } from "../../api/client";
import { StateWord } from "../../components/StateMark";
import { count, duration, NONE, offset } from "../../lib/format";
import { utc } from "../../lib/time";
import { lastHeard, worstClock } from "./words";

type Location = Schemas["Location"];

export interface LocationActions {
  enrol: (location: Location) => void;
  edit: (location: Location) => void;
  toggle: (location: Location) => void;
  remove: (location: Location) => void;
}

export interface TrustActions {
  say: (location: Location, kind: "believe" | "distrust") => void;
  take: (location: Location) => void;
}

const order = { quarantined: 0, distrusted: 1, impaired: 2, offline: 3, waiting: 4, online: 5, disabled: 6 } as const;

/** Locations with their agents, those that are not believed first. */
export function LocationTable({
  locations,
  now,
  actions,
  trust,
}: {
  locations: readonly Location[];
  now: number;
  actions: LocationActions | null;
  trust: TrustActions | null;
}) {
  const sorted = [...locations].sort((a, b) => order[a.health] - order[b.health]);
  return (
    <div className="scroll-x">
      <table className="grid folds">
        <caption className="hidden-visually">Locations, those that are not believed first</caption>
        <thead>
          <tr>
            <th scope="col">Location</th>
            <th scope="col">Health</th>
            <th scope="col">Region, network</th>
            <th scope="col" className="num">
              Agents
            </th>
            <th scope="col" className="num">
              Heard
            </th>
            <th scope="col" className="num">
              Clock
            </th>
            <th scope="col" className="num">
              References
            </th>
            <th scope="col" className="num">
              Against the rest
            </th>
            <th scope="col" className="num">
              Waiting reports
            </th>
            <th scope="col" className="num">
              Monitors
            </th>
            {(actions || trust) && (
              <th scope="col">
                <span className="hidden-visually">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {sorted.map((location) => (
            <Row key={location.id} location={location} now={now} actions={actions} trust={trust} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const edges: Partial<Record<Location["health"], string>> = {
  quarantined: "quarantined",
  distrusted: "quarantined",
  impaired: "partial",
  offline: "unknown",
};

function Row(props: { location: Location; now: number; actions: LocationActions | null; trust: TrustActions | null }) {
  const { location, now, actions, trust } = props;
  const references = location.references.flatMap((agent) => agent.targets);
  const reached = references.filter((target) => target.ok).length;
  const heard = lastHeard(location);
  const drift = worstClock(location);
  const spool = location.agents.reduce((sum, a) => sum + (a.spool ?? 0), 0);
  const online = location.agents.filter((a) => a.online).length;
  const edge = edges[location.health];
  return (
    <tr className={edge && `edged edge-${edge}`}>
      <th scope="row">
        {location.name} {location.simulated && <span className="tag">simulated</span>}{" "}
        {location.trust && <span className="tag">by hand</span>}{" "}
        {location.review_since && <span className="tag">under review</span>}
      </th>
      <td>
        <StateWord state={location.health} />
      </td>
      <td className="second soft">
        {[...new Set([location.region, location.domain])].filter((v) => v !== location.name).join(", ") || NONE}
      </td>
      <td className="num off">
        {online === location.agents.length ? count(online) : `${count(online)} of ${count(location.agents.length)}`}
      </td>
      <td className="num" title={heard === null ? undefined : utc(heard)}>
        {heard === null ? "never" : duration(now - heard)}
      </td>
      <td className={`num off${drift !== null && Math.abs(drift) > 2000 ? " strong" : ""}`}>{offset(drift)}</td>
      <td className={`num off${reached * 2 < references.length ? " strong" : ""}`}>
        {references.length === 0 ? NONE : `${count(reached)} of ${count(references.length)}`}
      </td>
      <td className="num off">{location.dissent_count > 0 ? count(location.dissent_count) : NONE}</td>
      <td className="num off">{spool > 0 ? count(spool) : NONE}</td>
      <td className="num off">{count(location.monitors)}</td>
      {(actions || trust) && (
        <td className="num end">
          <Menu position="bottom-end">
            <Menu.Target>
              <button type="button" className="button compact" aria-label={`Change ${location.name}`}>
                …
              </button>
            </Menu.Target>
            <Menu.Dropdown>
              {trust && location.trust && (
                <Menu.Item onClick={() => trust.take(location)}>Take the word back</Menu.Item>
              )}
              {trust && (
                <>
                  <Menu.Item onClick={() => trust.say(location, "believe")}>Believe it for a time…</Menu.Item>
                  <Menu.Item onClick={() => trust.say(location, "distrust")}>Do not believe it for a time…</Menu.Item>
                </>
              )}
              {actions && (
                <>
                  <Menu.Divider />
                  <Menu.Item onClick={() => actions.enrol(location)}>Enrol an agent</Menu.Item>
                  <Menu.Item onClick={() => actions.edit(location)}>Edit</Menu.Item>
                  <Menu.Item onClick={() => actions.toggle(location)}>
                    {location.enabled ? "Switch off" : "Switch on"}
                  </Menu.Item>
                  <Menu.Divider />
                  <Menu.Item onClick={() => actions.remove(location)}>Delete…</Menu.Item>
                </>
              )}
            </Menu.Dropdown>
          </Menu>
        </td>
      )}
    </tr>
  );
}
