import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Card } from "../../components/Card";
import { IncidentHead, IncidentRows } from "../../components/IncidentTable";
import { StateMark, StateWord } from "../../components/StateMark";
import { Empty } from "../../components/Status";
import { count, duration, list, plural } from "../../lib/format";
import { epoch, utc, when } from "../../lib/time";
import { compare, type EvidenceOf, type Line, names } from "./evidence";

type Incident = Schemas["Incident"];
type Notice = Schemas["IncidentNotice"];

/** Failing beside passing: what they share and what tells them apart. */
export function SawCard({ evidence }: { evidence: EvidenceOf }) {
  const { failing, passing, rows } = compare(evidence.locations);
  const uncounted = evidence.locations.filter((line) => line.uncounted !== null);
  if (evidence.locations.length === 0) return null;
  return (
    <Card
      title="What they saw"
      beside="when it opened or moved last"
      footer={uncounted.length > 0 && uncountedWords(uncounted)}
    >
      <div className="scroll-x">
        <table className="grid dense">
          <caption className="hidden-visually">Failing and passing locations compared</caption>
          <thead>
            <tr>
              <th scope="col">
                <span className="hidden-visually">What</span>
              </th>
              <th scope="col">
                <StateWord
                  state="down"
                  word={`${names(failing) || "nobody"} ${failing.length === 1 ? "fails" : "fail"}`}
                />
              </th>
              <th scope="col">
                <StateWord
                  state="up"
                  word={
                    passing.length === 0
                      ? "nobody passes"
                      : `${names(passing)} ${passing.length === 1 ? "passes" : "pass"}`
                  }
                />
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.word}>
                <th scope="row" className="muted small-weight">
                  {row.word}
                </th>
                <td className={row.word === "Address" ? "mono" : "break"}>
                  <span className={row.differs ? "differs" : undefined}>{row.failing}</span>
                </td>
                <td className={row.word === "Address" ? "mono" : "break"}>
                  <span className={row.differs ? "differs" : undefined}>{row.passing}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

function uncountedWords(lines: readonly Line[]): string {
  return `Not counted: ${lines.map((line) => `${line.name} (${(line.uncounted ?? "").replaceAll("_", " ")})`).join(", ")}.`;
}

const noticeWords: Record<string, string> = {
  opened: "opened",
  reopened: "opened again",
  moved: "severity changed",
  resolved: "resolved",
  flap_start: "flapping",
  flap_end: "steady again",
  after_maintenance: "still there after maintenance",
  evidence_withdrawn: "evidence withdrawn",
  reminder: "reminder",
  acknowledged: "acknowledged",
  group_update: "update of the group",
};

function outcomeMark(notice: Notice): string {
  if (notice.outcome === "delivered") return "up";
  if (notice.outcome === "failed") return "down";
  return notice.outcome ? "paused" : "pending";
}

function outcomeWords(notice: Notice): string {
  if (notice.outcome === "delivered") return "Accepted";
  if (notice.outcome === "failed") return "Refused";
  if (notice.outcome === "collapsed") return "Told with the end";
  if (notice.outcome === "dropped") return "Not sent";
  if (notice.outcome === "grouped") return "Told with the group";
  if (notice.held_for) return "Held back";
  return notice.attempts > 0 ? `Tried ${plural(notice.attempts, "time")}` : "Waiting";
}

/** Where an editor writes to the public; nothing where there is no status page, or no right to write. */
function ThePublic({ incident }: { incident: string }) {
  const role = useRole();
  const pages = api.useQuery("get", "/api/v1/status-pages", undefined, { staleTime: 60_000 });
  const items = pages.data?.items ?? [];
  if (!role("editor") || items.length === 0) return "The public reads only what people write on a status page.";
  return (
    <>
      The public reads only what people write. Write on{" "}
      {items.slice(0, 4).map((page, i) => (
        <span key={page.id}>
          {i > 0 && ", "}
          <Link to={`/status-pages/${page.id}?write=1&incident=${incident}`}>{page.name}</Link>
        </span>
      ))}
      {items.length > 4 && (
        <>
          {" "}
          or <Link to="/status-pages">another page</Link>
        </>
      )}
    </>
  );
}

/** Who was told, and what the other side said. */
export function ToldCard({ incident, now }: { incident: Incident; now: number }) {
  return (
    <Card
      title="Told"
      beside={incident.notices.length > 0 && plural(incident.notices.length, "notice")}
      footer={<ThePublic incident={incident.id} />}
    >
      {incident.notices.length === 0 ? (
        <Empty>
          {incident.suppressed ? (
            "Nobody: it happened inside a maintenance window."
          ) : (
            <>
              Nobody: no channel hears this severity. <Link to="/alerting">See who is told</Link>
            </>
          )}
        </Empty>
      ) : (
        <table className="grid dense folds">
          <caption className="hidden-visually">Notices</caption>
          <thead>
            <tr>
              <th scope="col">Outcome</th>
              <th scope="col">Channel</th>
              <th scope="col">What</th>
              <th scope="col">At</th>
              <th scope="col">The other side</th>
            </tr>
          </thead>
          <tbody>
            {incident.notices.map((notice) => (
              <tr key={notice.id}>
                <td>
                  <StateWord state={outcomeMark(notice)} word={outcomeWords(notice)} />
                </td>
                <th scope="row">
                  {notice.channel_name}{" "}
                  <span className="muted small-weight">
                    {notice.channel_kind}
                    {notice.fallback && ", as the fallback channel"}
                  </span>
                </th>
                <td>{noticeWords[notice.kind] ?? notice.kind}</td>
                <td className="nowrap" title={utc(notice.settled_at ?? notice.created_at)}>
                  {when(notice.settled_at ?? notice.created_at, now)}
                  {!notice.settled_at &&
                    notice.due_at &&
                    (notice.attempts > 0 || notice.due_at > notice.created_at) && (
                      <span className="muted small"> next {when(notice.due_at, now)}</span>
                    )}
                </td>
                <td className="second soft break">
                  {notice.held_for ? `Held back: ${notice.held_for}.` : notice.answer}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

const eventMarks: Record<string, string> = {
  opened: "down",
  escalated: "down",
  reopened: "down",
  downgraded: "partial",
  resolved: "up",
  suppressed: "maintenance",
};

/** A kind is `opened:down`, `suppressed:opened:down`, `resolved` …: its first word says what happened. */
const eventMark = (kind: string) => eventMarks[kind.split(":")[0] ?? ""];

/** What happened, in order: decisions of Quorate and of people, and who was told of them. */
export function EventsCard({ incident, now }: { incident: Incident; now: number }) {
  return (
    <Card title="What happened">
      <ol className="events">
        {timeline(incident).map((entry) => (
          <li key={entry.key}>
            <span className="muted nowrap" title={utc(entry.at)}>
              {when(entry.at, now)}
            </span>
            <span className="event-mark">
              {entry.event && eventMark(entry.event.kind) && (
                <StateMark state={eventMark(entry.event.kind) ?? "unknown"} />
              )}
            </span>
            {entry.event ? (
              <span className="break">
                {entry.event.actor && !entry.event.sentence.startsWith(entry.event.actor) && (
                  <b>{entry.event.actor} </b>
                )}
                {entry.event.sentence}
              </span>
            ) : (
              <span className="break soft">{entry.told}</span>
            )}
          </li>
        ))}
      </ol>
    </Card>
  );
}

interface Entry {
  key: string;
  at: string;
  event?: Schemas["IncidentEvent"];
  told?: string;
}

/** Events and notices as one; those told at the same moment of the same thing stand on one line. */
export function timeline(incident: Pick<Incident, "events" | "notices">): Entry[] {
  const entries: Entry[] = incident.events.map((event) => ({ key: `e${event.no}`, at: event.at, event }));
  const groups = new Map<string, Notice[]>();
  for (const notice of incident.notices) {
    const key = `${notice.created_at} ${notice.kind}`;
    groups.set(key, [...(groups.get(key) ?? []), notice]);
  }
  for (const [key, notices] of groups) {
    const first = notices[0];
    if (!first) continue;
    const who = list(notices.map((notice) => notice.channel_name));
    const what = noticeWords[first.kind] ?? first.kind;
    entries.push({ key, at: first.created_at, told: `Told ${who}: ${what}.` });
  }
  // What is told follows from what happened at that moment.
  return entries.sort((a, b) => (epoch(a.at) ?? 0) - (epoch(b.at) ?? 0) || Number(!!b.event) - Number(!!a.event));
}

export function OthersCard({
  title,
  beside,
  rows,
  now,
  none,
}: {
  title: string;
  beside: string;
  rows: readonly Schemas["IncidentRow"][];
  now: number;
  none: string;
}) {
  return (
    <Card title={title} beside={rows.length > 0 ? `${count(rows.length)} ${beside}` : undefined}>
      {rows.length === 0 ? (
        <Empty>{none}</Empty>
      ) : (
        <table className="grid folds">
          <caption className="hidden-visually">{title}</caption>
          <IncidentHead />
          <tbody>
            <IncidentRows rows={rows.slice(0, 20)} now={now} />
          </tbody>
        </table>
      )}
    </Card>
  );
}

/** How long deciding took, apart from the incident's own length. */
export function decidedWords(incident: Incident): string {
  const took = (epoch(incident.opened_at) ?? 0) - (epoch(incident.started_at) ?? 0);
  if (incident.kind === "certificate") return `first told ${when(incident.opened_at)}`;
  if (incident.fleet) return `began ${when(incident.started_at)}, found ${duration(took)} later`;
  return `first failing result ${when(incident.started_at)}, decided ${duration(took)} later`;
}
