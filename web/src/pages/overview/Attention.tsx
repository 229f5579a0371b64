import { useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button, ButtonLink } from "../../components/Button";
import { Card } from "../../components/Card";
import { answered, lasted } from "../../components/IncidentTable";
import { Seats } from "../../components/Seats";
import { StateWord } from "../../components/StateMark";
import { Tags } from "../../components/Tags";
import { duration, list, plural } from "../../lib/format";
import { acknowledgedWords, nameOf, severityWord } from "../../lib/incidents";
import { markOf, rank } from "../../lib/states";
import { tellProblem } from "../../lib/tell";
import { epoch, when } from "../../lib/time";
import { tellUndo } from "../../lib/undo";

type Overview = Schemas["Overview"];
type Row = Schemas["IncidentRow"];

/** What needs somebody: open incidents, monitors that nobody can see, silent locations. */
export function Attention({ overview, now }: { overview: Overview; now: number }) {
  const incidents = overview.incidents.filter((i) => !i.suppressed).sort((a, b) => rank(a.severity) - rank(b.severity));
  const blind = overview.monitors.filter(
    (m) => m.state === "unknown" && !incidents.some((i) => i.kind === "monitor" && i.monitor?.id === m.id),
  );
  const silent = overview.locations.filter((l) => l.health === "offline");
  if (incidents.length + blind.length + silent.length === 0) return null;
  const parts = [
    ...(incidents.length > 0 ? [plural(incidents.length, "incident")] : []),
    ...(blind.length > 0 ? [plural(blind.length, "blind monitor")] : []),
    ...(silent.length > 0 ? [plural(silent.length, "silent location")] : []),
  ];
  return (
    <Card title="Needs attention" beside={list(parts)} actions={<Link to="/incidents">Incident list</Link>}>
      <table className="grid folds">
        <caption className="hidden-visually">What needs attention, the worst first</caption>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">What</th>
            <th scope="col">Why</th>
            <th scope="col">Agreement</th>
            <th scope="col">For</th>
            <th scope="col">
              <span className="hidden-visually">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {incidents.slice(0, 20).map((row) => (
            <IncidentLine
              key={row.id}
              row={row}
              monitor={overview.monitors.find((m) => m.id === row.monitor?.id)}
              now={now}
            />
          ))}
          {blind.slice(0, 20).map((monitor) => (
            <tr key={monitor.id} className="edged edge-unknown">
              <td>
                <StateWord state="unknown" />
              </td>
              <th scope="row" className="what">
                <Link to={`/monitors/${monitor.id}`} className="plain">
                  {monitor.name}
                </Link>
              </th>
              <td className="second why">Too few of its locations report to say anything.</td>
              <td>
                <MonitorSeats monitor={monitor} />
              </td>
              <td className="end">
                <b className="nowrap">{duration(now - (epoch(monitor.since) ?? now))}</b>
              </td>
              <td className="num off">
                <ButtonLink compact to={`/monitors/${monitor.id}`}>
                  See votes
                </ButtonLink>
              </td>
            </tr>
          ))}
          {silent.map((location) => (
            <tr key={location.id} className="edged edge-unknown">
              <td>
                <StateWord state="offline" />
              </td>
              <th scope="row" className="what">
                location {location.name}
              </th>
              <td className="second why">No agent of it has called for 30 s; its votes go stale and do not count.</td>
              <td className="off" />
              <td className="end">
                <b className="nowrap">
                  {location.health_since ? duration(now - (epoch(location.health_since) ?? now)) : ""}
                </b>
              </td>
              <td className="num off">
                <ButtonLink compact to="/locations">
                  See location
                </ButtonLink>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function MonitorSeats({ monitor }: { monitor: Schemas["MonitorRow"] }) {
  if (monitor.seats.length === 0) return null;
  return (
    <Seats
      needed={null}
      seats={monitor.seats.map((s) => ({
        location: s.name,
        vote: s.counts || s.vote === "none" ? s.vote : "unknown",
        counts: s.counts,
      }))}
    />
  );
}

function IncidentLine({ row, monitor, now }: { row: Row; monitor: Schemas["MonitorRow"] | undefined; now: number }) {
  const client = useQueryClient();
  const role = useRole();
  const ack = api.useMutation("post", "/api/v1/incidents/{id}/ack");
  const unack = api.useMutation("post", "/api/v1/incidents/{id}/unack");
  const name = nameOf(row);
  const refresh = () => void client.invalidateQueries();
  const path = { params: { path: { id: row.id } } };
  return (
    <tr className={`edged edge-${markOf(row.severity)}`}>
      <td>
        <StateWord state={row.severity} word={severityWord(row, row.severity)} />
      </td>
      <th scope="row" className="what">
        <Link to={`/incidents/${row.id}`} className="plain">
          {name}
        </Link>
        <Tags low={row.low} stale={row.evidence_stale} flapping={row.flapping} />
      </th>
      <td className="second why">{row.sentence}</td>
      <td>{monitor && <MonitorSeats monitor={monitor} />}</td>
      <td className="end">
        <b className="nowrap">{duration(lasted(row, now))}</b>
        <span className="small muted nowrap" style={{ display: "block" }}>
          since {when(row.started_at, now)}
        </span>
      </td>
      <td className="num second">
        {row.acked_at || !role("editor") ? (
          <span className="small soft">{answered(row)}</span>
        ) : (
          <Button
            primary={row.severity === "down"}
            busy={ack.isPending}
            className="act"
            aria-label={`Acknowledge ${name}`}
            onClick={() =>
              ack.mutate(
                { ...path, body: {} },
                {
                  onError: tellProblem,
                  onSettled: refresh,
                  onSuccess: (answer) =>
                    tellUndo(`${acknowledgedWords(answer)}: calls and reminders stop.`, () =>
                      unack.mutate(path, { onSettled: refresh, onError: tellProblem }),
                    ),
                },
              )
            }
          >
            Acknowledge
          </Button>
        )}
      </td>
    </tr>
  );
}
