import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { IncidentHead, IncidentRows } from "../../components/IncidentTable";
import { Page } from "../../components/Page";
import { StateMark } from "../../components/StateMark";
import { Failed, Loading } from "../../components/Status";
import { count } from "../../lib/format";
import { monitorStates, wordOf } from "../../lib/states";
import { useNow } from "../../lib/ticker";
import { LocationTable } from "../locations/LocationTable";
import { locationsSentence, simulatedNote } from "../locations/words";
import { Attention } from "./Attention";
import { FirstRun } from "./FirstRun";
import { MatrixCard } from "./MatrixCard";

type Overview = Schemas["Overview"];

/** Overview: what is wrong, and where? Before anything is watched: what next? */
export function OverviewPage() {
  const overview = api.useQuery("get", "/api/v1/overview", { params: { query: {} } });
  const channels = api.useQuery("get", "/api/v1/channels");
  if (!overview.data)
    return (
      <Page crumbs={[{ word: "Overview" }]}>
        <h1>Overview</h1>
        {overview.isError ? (
          <Failed error={overview.error} retry={() => void overview.refetch()} />
        ) : (
          <Loading rows={8} />
        )}
      </Page>
    );
  // The guide stays until something is watched and somebody is told.
  const started = overview.data.counts.total > 0 && (channels.data === undefined || channels.data.items.length > 0);
  return (
    <Page crumbs={[{ word: started ? "Overview" : "First steps" }]}>
      {started ? (
        <Everything overview={overview.data} />
      ) : (
        <FirstRun overview={overview.data} channels={channels.data?.items ?? []} />
      )}
    </Page>
  );
}

function Everything({ overview }: { overview: Overview }) {
  const now = useNow();
  const note = simulatedNote(overview.locations);
  return (
    <>
      <div className="headline">
        <div>
          <h1>{overview.sentence}</h1>
          <p className="lead">{locationsSentence(overview.locations, now)}</p>
        </div>
      </div>
      <Undelivered incidents={overview.incidents} />
      <Chips counts={overview.counts} />
      <Attention overview={overview} now={now} />
      <MatrixCard monitors={overview.monitors} locations={overview.locations} />
      {overview.incidents.length === 0 && overview.last_incident && (
        <Card title="Last incident" actions={<Link to="/incidents">All of them</Link>}>
          <table className="grid folds">
            <caption className="hidden-visually">Last incident</caption>
            <IncidentHead />
            <tbody>
              <IncidentRows rows={[overview.last_incident]} now={now} />
            </tbody>
          </table>
        </Card>
      )}
      <Card title="Locations" actions={<Link to="/locations">More</Link>} footer={note}>
        <LocationTable locations={overview.locations} now={now} actions={null} trust={null} />
      </Card>
    </>
  );
}

/** Nobody hears of anything: that stands above everything else. */
function Undelivered({ incidents }: { incidents: Overview["incidents"] }) {
  const incident = incidents.find((row) => row.subject === "platform:undelivered_alerts");
  if (!incident) return null;
  return (
    <section role="alert" className="note edged edge-down" aria-label="Alerts are not delivered">
      <StateMark state="down" />
      <div>
        <b>Alerts are not delivered.</b> {incident.sentence}
        <p className="row">
          <Link to={`/incidents/${incident.id}`}>See what was tried</Link>
          <Link to="/alerting">Channels</Link>
        </p>
      </div>
    </section>
  );
}

/** How many monitors are in each state; a chip leads to them. */
function Chips({ counts }: { counts: Overview["counts"] }) {
  return (
    <div className="row pad-phone chips">
      {monitorStates
        .filter((state) => counts[state] > 0 || state === "down")
        .map((state) => (
          <Link key={state} to={`/monitors?q=state:${state}`} className={`chip${counts[state] === 0 ? " none" : ""}`}>
            <StateMark state={state} />
            <b>{count(counts[state])}</b> <span className="chip-word">{wordOf(state).toLowerCase()}</span>
          </Link>
        ))}
    </div>
  );
}
