import { Modal } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button } from "../../components/Button";
import { ConfirmDelete } from "../../components/Confirm";
import { StateWord } from "../../components/StateMark";
import { behindWords, fleetMark, fleetWord, isUnheard, readyWords, upper } from "../../lib/fleets";
import { duration, list, plural } from "../../lib/format";
import { wordOf } from "../../lib/states";
import { tell } from "../../lib/tell";
import { epoch, utc, when } from "../../lib/time";
import { useUrlState } from "../../lib/useUrlState";
import { FleetForm } from "../fleets/FleetForm";
import { Zones } from "./Zones";

type Fleet = Schemas["Fleet"];

/** The verdict: state, for how long, the sentence, what is known beside it; and what can be done. */
export function Headline({ fleet, now, health }: { fleet: Fleet; now: number; health?: Schemas["FleetHealth"] }) {
  const role = useRole();
  // What is chronic or for information is told below; it does not make the verdict.
  const loud = fleet.now.state === "critical" || fleet.now.state === "warning";
  const worst = loud ? fleet.now.worst : null;
  const since = epoch(worst?.from);
  return (
    <div className="headline">
      <div>
        <div className="row wide state-line">
          <StateWord state={fleetMark(fleet)} word={upper(fleetWord(fleet))} large />
          {since !== null && <b className="big-duration">{duration(now - since)}</b>}
          {since !== null && (
            <span className="muted" title={utc(worst?.from)}>
              since {when(worst?.from, now)}
            </span>
          )}
        </div>
        <h1>{worst ? worst.sentence : sentenceOf(fleet)}</h1>
        <Lead fleet={fleet} now={now} health={health} />
        <Zones now={fleet.now} health={health} />
      </div>
      {role("editor") && <Actions fleet={fleet} />}
    </div>
  );
}

function sentenceOf(fleet: Fleet): string {
  switch (fleet.now.state) {
    case "waiting":
      return `${fleet.name} waits for its first line.`;
    case "no_source":
      return `Nobody sends logs of ${fleet.name} any more: its sources were deleted.`;
    case "behind":
      return `What arrives from ${fleet.name} is old: how it is now is not known yet.`;
    case "no_data":
      return `Nothing arrives from ${fleet.name}: its health is not known.`;
    case "ok":
      return `The instances of ${fleet.name} are like each other.`;
    default:
      return `${fleet.name} needs attention.`;
  }
}

/** Open findings beside the one of the headline. */
function moreWords(fleet: Fleet): string {
  const { state, worst, open_findings: open } = fleet.now;
  if (state === "ok" && worst) return worst.chronic ? `Chronic: ${worst.sentence}` : worst.sentence;
  return open > 1 ? `${plural(open, "open finding")} in all, below.` : "";
}

/** What was true when the logs broke off. */
function lastKnownWords(health: Schemas["FleetHealth"] | undefined, now: number): string {
  const last = health?.ready.findLast((step) => step.ready != null);
  const broke = epoch(health?.now.newest_at) ?? epoch(last?.at);
  if (last?.ready == null || broke === null) return "";
  const word = last.source === "traffic" ? "in rotation" : "ready";
  return `Last known: ${plural(last.ready, "instance")} ${word} at ${when(broke, now)}.`;
}

/** What is known beside the verdict. */
function Lead({ fleet, now, health }: { fleet: Fleet; now: number; health?: Schemas["FleetHealth"] }) {
  return (
    <p className="lead">
      {[
        isUnheard(fleet.now.state) ? lastKnownWords(health, now) : `${upper(readyWords(fleet.now))}.`,
        fleet.now.state === "waiting" || fleet.now.state === "no_source" ? "" : `Logs: ${behindWords(fleet.now, now)}.`,
        moreWords(fleet),
      ]
        .filter(Boolean)
        .join(" ")}
      {fleet.monitors.length > 0 && (
        <>
          {" "}
          Seen from outside by{" "}
          {fleet.monitors.map((monitor, i) => (
            <span key={monitor.id}>
              {i > 0 && ", "}
              <Link to={`/monitors/${monitor.id}`}>{monitor.name}</Link>, which is {wordOf(monitor.state).toLowerCase()}
            </span>
          ))}
          .
        </>
      )}
    </p>
  );
}

/** Settings and deletion, each in its dialog. */
function Actions({ fleet }: { fleet: Fleet }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const remove = api.useMutation("delete", "/api/v1/fleets/{id}");
  const [editing, setEditing] = useUrlState("edit");
  const [deleting, setDeleting] = useState(false);
  const refresh = () =>
    client.invalidateQueries({
      predicate: (query) => typeof query.queryKey[1] === "string" && query.queryKey[1].startsWith("/api/v1/fleets"),
    });
  return (
    <>
      <div className="actions">
        <Button onClick={() => setEditing("1", true)}>Fleet settings</Button>
        <Button onClick={() => setDeleting(true)}>Delete…</Button>
      </div>
      <Modal opened={editing !== ""} onClose={() => setEditing("")} title={`Settings of ${fleet.name}`} size={720}>
        <FleetForm
          fleet={fleet}
          done={() => {
            setEditing("");
            tell("Saved. It counts from the next window on.");
            void refresh();
          }}
        />
      </Modal>
      <ConfirmDelete
        opened={deleting}
        close={() => setDeleting(false)}
        title="Delete a fleet"
        name={fleet.name}
        act={async () => {
          await remove.mutateAsync({ params: { path: { id: fleet.id } } });
          await navigate("/fleets");
          await refresh();
        }}
      >
        Its history, findings and tokens go with it.
        {fleet.monitors.length > 0 && ` ${list(fleet.monitors.map((m) => m.name))} will name no fleet any more.`}
      </ConfirmDelete>
    </>
  );
}
