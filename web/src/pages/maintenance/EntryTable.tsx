import { Menu } from "@mantine/core";
import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { ScrollX } from "../../components/ScrollX";
import { StateWord } from "../../components/StateMark";
import { NONE, percent, plural } from "../../lib/format";
import { lasts, type Names, scopeWords, spanWords, whenWords } from "../../lib/maintenance";
import { day, epoch, hourMinute, utc } from "../../lib/time";

type Maintenance = Schemas["Maintenance"];

export interface EntryActions {
  end: (one: Maintenance) => void;
  skip: (one: Maintenance, start: string, skip: boolean) => void;
  pause: (one: Maintenance) => void;
  remove: (one: Maintenance) => void;
}

const order = { running: 0, planned: 1, paused: 2, past: 3 } as const;

/** What runs first, then what comes next. */
export function inOrder(entries: readonly Maintenance[]): Maintenance[] {
  return [...entries].sort((a, b) => order[a.phase] - order[b.phase] || (epoch(a.start) ?? 0) - (epoch(b.start) ?? 0));
}

/** Windows and plans, with what each silences and what it does to the numbers. */
export function EntryTable(props: {
  entries: readonly Maintenance[];
  names: Names;
  now: number;
  actions: EntryActions | null;
}) {
  return (
    <ScrollX label="Windows and plans">
      <table className="grid folds maintenance">
        <caption className="hidden-visually">Windows and plans, what runs first</caption>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">What</th>
            <th scope="col">When</th>
            <th scope="col">Alerts</th>
            <th scope="col">SLO</th>
            <th scope="col">Probes</th>
            <th scope="col">Effect on SLOs</th>
            {props.actions && (
              <th scope="col">
                <span className="hidden-visually">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {props.entries.map((one) => (
            <Row key={one.id} {...props} one={one} />
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

function Row(props: { one: Maintenance; names: Names; now: number; actions: EntryActions | null }) {
  const { one, names, now, actions } = props;
  const running = one.phase === "running";
  const correction = one.kind === "correction";
  return (
    <tr className={running ? "edged edge-maintenance" : undefined}>
      <td>{running ? <StateWord state="maintenance" word="Now" /> : <span className="soft">{phaseWord(one)}</span>}</td>
      <th scope="row" className="what">
        <span className="break">{one.name}</span>
        <div className="muted small small-weight break">{scopeWords(one, names)}</div>
      </th>
      <td className="second" title={one.cron ? `${one.cron} (${one.timezone})` : utc(one.start)}>
        <span className="break">{whenWords(one, now)}</span>
        <div className="muted small">{nextWords(one, now)}</div>
      </td>
      <td className="off">{correction ? NONE : one.suppress_alerts ? "silent" : <b>heard</b>}</td>
      <td className="off">{one.exclude_from_slo ? "left out" : <b>counted</b>}</td>
      <td className="off">{correction ? NONE : one.pause_probes ? <b>pause</b> : "go on"}</td>
      <td className="second effect">
        <Effect one={one} />
      </td>
      {actions && (
        <td className="num end">
          <Actions one={one} actions={actions} now={now} />
        </td>
      )}
    </tr>
  );
}

const phaseWord = (one: Maintenance) =>
  one.kind === "correction"
    ? "Correction"
    : { running: "Now", planned: "Planned", paused: "Paused", past: "Over" }[one.phase];

/** `once`, or what comes next of a plan, its end, and what is left out of it. */
function nextWords(one: Maintenance, now: number): string {
  if (!one.cron) return one.phase === "running" ? `until ${spanEnd(one, now)}` : "once";
  const parts: string[] = [];
  if (one.phase === "running") parts.push(`until ${spanEnd(one, now)}`);
  const next = one.next.find((o) => !o.skipped);
  if (one.paused) parts.push("nothing begins while it is paused");
  else if (next) parts.push(`next ${day(next.start, now)} ${hourMinute(next.start)}`);
  else parts.push("nothing in the next 90 days");
  const skipped = one.next.filter((o) => o.skipped).length;
  if (skipped > 0) parts.push(`${plural(skipped, "time")} skipped`);
  if (one.until) parts.push(`last before ${day(one.until, now)}`);
  return parts.join(" · ");
}

function spanEnd(one: Maintenance, now: number): string {
  const end = epoch(one.end) ?? now;
  return day(end, now) === day(now, now) ? hourMinute(end) : `${day(end, now)} ${hourMinute(end)}`;
}

/** What it does to each SLO that leaves maintenance out, in words. */
function Effect({ one }: { one: Maintenance }) {
  const wanted = one.exclude_from_slo && !one.locations && one.kind === "planned";
  const effect = api.useQuery(
    "get",
    "/api/v1/maintenance/{id}/effect",
    { params: { path: { id: one.id } } },
    { enabled: wanted, staleTime: 60_000 },
  );
  if (one.kind === "correction") return <>leaves its span out of every report</>;
  if (one.locations) return <>only what these locations see is left out</>;
  if (!one.exclude_from_slo) return <>none: what fails in it counts</>;
  if (effect.isPending) return null;
  if (effect.isError) return <>cannot be told at the moment</>;
  const [first, ...others] = [...effect.data.items].sort((a, b) => b.left_out_ms - a.left_out_ms);
  if (!first) return <>none: no SLO leaves it out</>;
  const touched = others.filter((other) => other.left_out_ms > 0);
  return (
    <>
      <Link to={`/slos/${first.slo.id}`}>{first.slo.name}</Link>: {effectWords(first)}
      {touched.length > 0 && (
        <div className="muted small">
          and {plural(touched.length, "more SLO")}:{" "}
          {touched
            .slice(0, 3)
            .map((other) => `${other.slo.name} ${shorter(other)}`)
            .join(", ")}
        </div>
      )}
    </>
  );
}

type OneEffect = Schemas["MaintenanceEffect"];

const shorter = (e: OneEffect) => `−${lasts((e.budget_ms - e.budget_left_ms) / 1000)}`;

/** `2 windows leave out 2 h of 30 d; its budget shrinks by 7 s, from 43 min 12 s to 43 min 04 s`. */
export function effectWords(e: OneEffect): string {
  if (e.occurrences === 0) return e.rolling ? "nothing within its window from now on" : "nothing in its present window";
  const spared =
    e.longest_of_budget > 0.5
      ? `. Were the longest one counted, and spent down, it would use ${percent(e.longest_of_budget, 0)} of the budget`
      : "";
  const [out, whole, less, before, after] = [
    e.left_out_ms,
    e.window_ms,
    e.budget_ms - e.budget_left_ms,
    e.budget_ms,
    e.budget_left_ms,
  ].map((ms) => lasts(ms / 1000));
  const leave = e.occurrences === 1 ? "leaves" : "leave";
  return `${plural(e.occurrences, "window")} ${leave} out ${out} of ${whole}; its budget shrinks by ${less}, from ${before} to ${after}${spared}`;
}

function Actions({ one, actions, now }: { one: Maintenance; actions: EntryActions; now: number }) {
  const running = one.phase === "running" && one.kind === "planned";
  const again = one.cron != null;
  const editable = again || one.phase === "planned";
  if (!running && !editable) return null;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <button type="button" className="button compact" aria-label={`Change ${one.name}`}>
          …
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {running && <Menu.Item onClick={() => actions.end(one)}>End now</Menu.Item>}
        {editable && (
          <Menu.Item component={Link} to={`/maintenance/${one.id}/edit`}>
            Edit
          </Menu.Item>
        )}
        {again &&
          one.next.slice(0, 3).map((o) => (
            <Menu.Item key={o.start} onClick={() => actions.skip(one, o.start, !o.skipped)}>
              {o.skipped ? "Do not skip" : "Skip"} {spanWords(epoch(o.start) ?? 0, epoch(o.end) ?? 0, now)}
            </Menu.Item>
          ))}
        {again && <Menu.Item onClick={() => actions.pause(one)}>{one.paused ? "Go on" : "Pause the plan"}</Menu.Item>}
        {editable && <Menu.Item onClick={() => actions.remove(one)}>Delete</Menu.Item>}
      </Menu.Dropdown>
    </Menu>
  );
}
