import { Modal, Textarea } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useParams } from "react-router";
import { api, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { useRole } from "../../api/session";
import { Button, ButtonLink } from "../../components/Button";
import { lasted } from "../../components/IncidentTable";
import { Page } from "../../components/Page";
import { Seats } from "../../components/Seats";
import { StateWord } from "../../components/StateMark";
import { Failed, Loading, Refusal } from "../../components/Status";
import { Tags } from "../../components/Tags";
import { duration } from "../../lib/format";
import { acknowledgedWords, nameOf, severityWord } from "../../lib/incidents";
import { useKeys } from "../../lib/keys";
import { tellProblem } from "../../lib/tell";
import { useNow } from "../../lib/ticker";
import { utc, when, zoneLabel } from "../../lib/time";
import { tellUndo } from "../../lib/undo";
import { isOfJob, readEvidence, seats } from "./evidence";
import { DecidedCard } from "./DecidedCard";
import { FleetCard } from "./FleetCard";
import { NextCard } from "./NextCard";
import { OutputCard } from "./OutputCard";
import { decidedWords, EventsCard, OthersCard, SawCard, ToldCard } from "./Parts";

type Incident = Schemas["Incident"];

const endings: Record<string, string> = {
  recovered: "recovered",
  flap_end: "steady again",
  paused: "ended because the monitor was paused",
  deleted: "ended because it was deleted",
  renewed: "renewed",
  "told once": "told once, and needs no end",
  "closed by hand": "closed by hand",
  "not worth one any more": "ended because the rules of the fleet changed",
};

/** An incident: act how? */
export function IncidentPage() {
  const id = useParams().id ?? "";
  const incident = api.useQuery("get", "/api/v1/incidents/{id}", { params: { path: { id } } });
  const name = incident.data ? nameOf(incident.data) : "…";
  return (
    <Page crumbs={[{ word: "Incidents", to: "/incidents" }, { word: name }]}>
      {incident.isPending && <Loading rows={8} />}
      {incident.isError && !incident.data && <Failed error={incident.error} retry={() => void incident.refetch()} />}
      {incident.data && <View incident={incident.data} name={name} />}
    </Page>
  );
}

function View({ incident, name }: { incident: Incident; name: string }) {
  const now = useNow();
  const evidence = readEvidence(incident);
  const open = !incident.resolved_at;
  const grave = severityWord(incident, open ? incident.severity : incident.peak);
  const certificate = incident.kind === "certificate";
  const was = grave?.toLowerCase() ?? (incident.peak === "degraded" ? "slow" : incident.peak);
  const to = incident.monitor
    ? `/monitors/${incident.monitor.id}`
    : incident.fleet
      ? `/fleets/${incident.fleet.id}`
      : incident.slo
        ? `/slos/${incident.slo.id}`
        : null;
  return (
    <>
      <div className="headline">
        <div>
          <div className="row wide state-line">
            <StateWord
              state={open ? incident.severity : "up"}
              word={open || certificate ? grave : `Was ${was}`}
              large
            />
            <Tags low={incident.low} stale={incident.evidence_stale} flapping={incident.flapping} />
            <b className="big-duration">{duration(lasted(incident, now))}</b>
            <span className="muted" title={`${utc(incident.started_at)} – ${utc(incident.ended_at)}`}>
              {to ? <Link to={to}>{name}</Link> : name} · {when(incident.started_at, now)}
              {incident.ended_at ? ` – ${when(incident.ended_at, now)}` : " until now"} {zoneLabel(now)}
              {incident.resolve_reason && ` · ${endings[incident.resolve_reason] ?? incident.resolve_reason}`}
            </span>
          </div>
          <h1>{incident.sentence}</h1>
          <div className="row">
            {evidence.locations.length > 0 && !isOfJob(evidence) && (
              <Seats seats={seats(evidence.locations)} needed={evidence.needed} />
            )}
            <span className="muted small">
              {decidedWords(incident)}
              {evidence.scope && !incident.fleet ? ` · scope: ${evidence.scope}` : ""}
            </span>
          </div>
        </div>
        <Dock incident={incident} />
      </div>
      {!isOfJob(evidence) && <SawCard evidence={evidence} />}
      <OutputCard incident={incident} evidence={evidence} now={now} />
      <FleetCard incident={incident} now={now} />
      <NextCard incident={incident} now={now} />
      <ToldCard incident={incident} now={now} />
      {incident.storm && <StormCard storm={incident.storm} own={incident.id} now={now} />}
      <OthersCard
        title="What else broke then"
        beside="at the same time"
        rows={incident.at_the_same_time}
        now={now}
        none="Nothing else was open at the same time."
      />
      <EventsCard incident={incident} now={now} />
      <DecidedCard incident={incident} now={now} />
      <OthersCard
        title="Earlier"
        beside={
          incident.kind === "platform"
            ? "of this cause, the latest first"
            : `of this ${incident.fleet ? "fleet" : incident.slo ? "SLO" : certificate ? "monitor's certificates" : "monitor"}, the latest first`
        }
        rows={incident.earlier}
        now={now}
        none="This is its first."
      />
    </>
  );
}

/** The incidents that people heard of as one. */
function StormCard({ storm, own, now }: { storm: Schemas["Storm"]; own: string; now: number }) {
  const list = api.useQuery("get", "/api/v1/incidents", { params: { query: { storm: storm.first, limit: 500 } } });
  const others = (list.data?.items ?? []).filter((row) => row.id !== own);
  if (others.length === 0) return null;
  return (
    <OthersCard
      title="Told together"
      beside={`they went down within a minute and share ${storm.shared}`}
      rows={others}
      now={now}
      none=""
    />
  );
}

/** Acknowledge, runbook, note: at the top on a wide screen, under the thumb on a phone. */
function Dock({ incident }: { incident: Incident }) {
  const client = useQueryClient();
  const role = useRole();
  const ack = api.useMutation("post", "/api/v1/incidents/{id}/ack");
  const unack = api.useMutation("post", "/api/v1/incidents/{id}/unack");
  const resolve = api.useMutation("post", "/api/v1/incidents/{id}/resolve");
  const [writing, setWriting] = useState(false);
  const path = { params: { path: { id: incident.id } } };
  const refresh = () => void client.invalidateQueries();
  const open = !incident.resolved_at;
  const editor = role("editor");
  const back = () => unack.mutate(path, { onError: tellProblem, onSettled: refresh });
  const acknowledge = () => {
    if (!open || incident.acked_at || !editor) return;
    ack.mutate(
      { ...path, body: {} },
      {
        onError: tellProblem,
        onSettled: refresh,
        onSuccess: (answer) => tellUndo(`${acknowledgedWords(answer)}: calls and reminders stop.`, back),
      },
    );
  };
  useKeys({ a: acknowledge, n: () => editor && setWriting(true) });
  const runbook = incident.monitor?.runbook_url;
  return (
    <div className="actions dock">
      {incident.acked_at && (
        <span className="soft small">
          {incident.acked_by} is at it since {when(incident.acked_at)}
          {incident.acked_until && open && `, until ${when(incident.acked_until)}`}
        </span>
      )}
      {editor && open && !incident.acked_at && (
        <Button primary busy={ack.isPending} onClick={acknowledge}>
          Acknowledge
        </Button>
      )}
      {editor && open && incident.acked_at && (
        <Button busy={unack.isPending} onClick={back}>
          Take it back
        </Button>
      )}
      {runbook && (
        <a className="button" href={runbook} rel="noreferrer">
          Runbook
        </a>
      )}
      {editor && <Button onClick={() => setWriting(true)}>Note</Button>}
      {incident.monitor && (
        <ButtonLink className="wide-only-button" to={`/monitors/${incident.monitor.id}`}>
          Monitor
        </ButtonLink>
      )}
      {(incident.fleet || incident.kind === "platform" || incident.kind === "certificate") && editor && open && (
        <Button
          busy={resolve.isPending}
          onClick={() => resolve.mutate(path, { onError: tellProblem, onSettled: refresh })}
        >
          Close it
        </Button>
      )}
      {incident.kind === "certificate" && incident.monitor && (
        <ButtonLink className="wide-only-button" to={`/certificates?monitor=${incident.monitor.id}`}>
          Certificates
        </ButtonLink>
      )}
      {incident.fleet && (
        <ButtonLink className="wide-only-button" to={`/fleets/${incident.fleet.id}`}>
          Fleet
        </ButtonLink>
      )}
      {incident.slo && (
        <ButtonLink className="wide-only-button" to={`/slos/${incident.slo.id}`}>
          SLO
        </ButtonLink>
      )}
      <Modal opened={writing} onClose={() => setWriting(false)} title="Note">
        <NoteForm
          id={incident.id}
          done={() => {
            setWriting(false);
            refresh();
          }}
        />
      </Modal>
    </div>
  );
}

function NoteForm({ id, done }: { id: string; done: () => void }) {
  const note = api.useMutation("post", "/api/v1/incidents/{id}/note");
  const [text, setText] = useState("");
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        note.mutate({ params: { path: { id } }, body: { text } }, { onSuccess: done });
      }}
    >
      <Textarea
        label="What you know or did"
        description="Everybody who opens the incident reads it."
        autosize
        minRows={3}
        data-autofocus
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {note.isError && <Refusal>{problemOf(note.error).message}</Refusal>}
      <div className="actions">
        <Button primary type="submit" busy={note.isPending} disabled={text.trim() === ""}>
          Add the note
        </Button>
      </div>
    </form>
  );
}
