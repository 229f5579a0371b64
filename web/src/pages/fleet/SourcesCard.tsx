import { Modal, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ConfirmDelete } from "../../components/Confirm";
import { Copy } from "../../components/Copy";
import { ScrollX } from "../../components/ScrollX";
import { StateWord } from "../../components/StateMark";
import { Failed, Loading, Refusal } from "../../components/Status";
import { bytes, count, duration, NONE, plural } from "../../lib/format";
import { showRefusal } from "../../lib/formErrors";
import { SLOWLY } from "../../lib/live";
import { tell } from "../../lib/tell";
import { ago, epoch, utc, when } from "../../lib/time";
import { SourceForm } from "./SourceForm";

type Fleet = Schemas["Fleet"];
type Source = Schemas["FleetSource"];

/** Who sends logs, how far behind they are, and what could not be read. */
export function SourcesCard({ fleet, now }: { fleet: Fleet; now: number }) {
  const role = useRole();
  const client = useQueryClient();
  const path = { id: fleet.id };
  const sources = api.useQuery("get", "/api/v1/fleets/{id}/sources", { params: { path } }, { refetchInterval: SLOWLY });
  const shippers = api.useQuery("get", "/api/v1/fleets/{id}/shippers", { params: { path } });
  const revoke = api.useMutation("delete", "/api/v1/fleets/{id}/shippers/{shipper}");
  const [sending, setSending] = useState(false);
  const [reading, setReading] = useState<string | null>(null);
  const [editing, setEditing] = useState<string | null>(null);
  const [deleting, setDeleting] = useState<string | null>(null);
  const remove = api.useMutation("delete", "/api/v1/fleets/{id}/sources/{source}");
  const [revoking, setRevoking] = useState<Schemas["Shipper"] | null>(null);
  const items = sources.data?.items ?? [];
  const find = (name: string | null) => items.find((source) => source.name === name);
  const shown = find(reading);
  const edited = find(editing);
  const refresh = () =>
    client.invalidateQueries({
      predicate: (query) =>
        typeof query.queryKey[1] === "string" && query.queryKey[1].startsWith("/api/v1/fleets/{id}"),
    });
  return (
    <Card
      title="Logs"
      beside={sources.data && plural(items.length, "source")}
      actions={
        role("admin") && (
          <Button compact onClick={() => setSending(true)}>
            Send logs…
          </Button>
        )
      }
      footer={
        (shippers.data?.items.length ?? 0) > 0 && (
          <ul className="plain">
            {shippers.data?.items.map((shipper) => (
              <li key={shipper.id} className="row small">
                <b>{shipper.name}</b>
                <span className="muted">
                  token, {shipper.last_used_at ? `last used ${ago(shipper.last_used_at, now)}` : "never used"}
                </span>
                {role("admin") && (
                  <button type="button" className="link" onClick={() => setRevoking(shipper)}>
                    Revoke<span className="hidden-visually"> {shipper.name}</span>
                  </button>
                )}
              </li>
            ))}
          </ul>
        )
      }
    >
      {sources.isPending && <Loading rows={2} />}
      {sources.isError && <Failed error={sources.error} retry={() => void sources.refetch()} />}
      {sources.data && items.length === 0 && (
        <div className="empty">
          {fleet.now.state === "no_source" ? "Whoever sent logs was deleted." : "No line has arrived yet."}{" "}
          {role("admin")
            ? "“Send logs” makes a token and the command that follows your log files; lines are counted here as they come."
            : "An administrator can make the command that sends them."}
        </div>
      )}
      {items.length > 0 && (
        <ScrollX label="Sources of logs">
          <table className="grid folds">
            <caption className="hidden-visually">Sources of logs</caption>
            <thead>
              <tr>
                <th scope="col">Source</th>
                <th scope="col">State</th>
                <th scope="col">Read as</th>
                <th scope="col" className="num">
                  Newest line
                </th>
                <th scope="col" className="num">
                  Behind
                </th>
                <th scope="col" className="num">
                  Lines
                </th>
                <th scope="col" className="num">
                  Unreadable
                </th>
                {role("editor") && (
                  <th scope="col">
                    <span className="hidden-visually">Actions</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {items.map((source) => (
                <tr key={source.name} className={source.live ? undefined : "edged edge-unknown"}>
                  <th scope="row" className="name">
                    {source.name}
                    {source.aliases.length > 0 && (
                      <span className="muted small small-weight"> was {source.aliases.join(", ")}</span>
                    )}
                  </th>
                  <td className="end">
                    <StateWord state={source.live ? "up" : "unknown"} word={stateWords(source, now)} />
                  </td>
                  <td className="second">
                    {source.format ?? "not found out yet"}{" "}
                    <span className="muted">
                      {source.role === "instance" ? "an instance's own log" : "a balancer's"},{" "}
                      {source.tz ?? "UTC unless the lines say"}
                      {source.patience_s != null && `, waited for ${duration(source.patience_s)}`}
                    </span>
                  </td>
                  <td className="num third nowrap" title={utc(source.newest_at)}>
                    <span className="phone-only">newest line </span>
                    {source.newest_at ? when(source.newest_at, now) : NONE}
                  </td>
                  <td className="num off">{source.lag_ms == null ? NONE : duration(source.lag_ms / 1000)}</td>
                  <td className="num off" title={bytes(source.bytes)}>
                    {count(source.lines)}
                  </td>
                  <td className="num third">
                    <span className="phone-only">· unreadable </span>
                    {source.rejected === 0 ? (
                      "0"
                    ) : (
                      <button type="button" className="link" onClick={() => setReading(source.name)}>
                        {count(source.rejected)}
                        <span className="hidden-visually"> unreadable lines of {source.name}: see samples</span>
                      </button>
                    )}
                  </td>
                  {role("editor") && (
                    <td className="num third">
                      <Button
                        compact
                        onClick={() => setEditing(source.name)}
                        aria-label={`Change how ${source.name} is read`}
                      >
                        Edit
                      </Button>
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollX>
      )}
      <Modal opened={sending && role("admin")} onClose={() => setSending(false)} title="Send logs" size={680}>
        <Send fleet={fleet} made={() => void refresh()} />
      </Modal>
      <Modal
        opened={shown !== undefined}
        onClose={() => setReading(null)}
        title={`Lines of ${shown?.name ?? ""} that could not be read`}
        size={860}
      >
        {shown && <Samples source={shown} />}
      </Modal>
      <Modal
        opened={edited !== undefined && role("editor")}
        onClose={() => setEditing(null)}
        title={`How ${edited?.name ?? ""} is read`}
        size={640}
      >
        {edited && (
          <SourceForm
            fleet={fleet}
            source={edited}
            done={(saved) => {
              setEditing(null);
              tell(
                saved.name === edited.name
                  ? `${saved.name} is read so from its next lines on.`
                  : `${edited.name} is called ${saved.name} now; what is sent as ${edited.name} is its own.`,
              );
              void refresh();
            }}
            remove={() => {
              setEditing(null);
              setDeleting(edited.name);
            }}
          />
        )}
      </Modal>
      <ConfirmDelete
        opened={deleting !== null}
        close={() => setDeleting(null)}
        title="Delete a source"
        name={deleting ?? ""}
        act={async () => {
          await remove.mutateAsync({ params: { path: { ...path, source: deleting ?? "" } } });
          await refresh();
        }}
      >
        It is not waited for and not missed any more. Its lines stay counted, and what it said of instances stays. The
        places in its files are kept: if it sends again it is here again, and nothing counts twice. To keep it from
        sending, revoke its token.
      </ConfirmDelete>
      <ConfirmDelete
        opened={revoking !== null}
        close={() => setRevoking(null)}
        title="Revoke a token"
        verb="Revoke"
        name={revoking?.name ?? ""}
        act={async () => {
          if (revoking) await revoke.mutateAsync({ params: { path: { ...path, shipper: revoking.id } } });
          await refresh();
        }}
      >
        Whoever sends logs with it is refused at once. A shipper keeps its place in its files and goes on with another
        token.
      </ConfirmDelete>
    </Card>
  );
}

function stateWords(source: Source, now: number): string {
  const received = epoch(source.received_at);
  if (source.live) return "arriving";
  if (source.behind_s != null) return `arriving, ${duration(source.behind_s)} behind`;
  return received === null ? "nothing yet" : `silent ${duration(now - received)}`;
}

function Samples({ source }: { source: Source }) {
  return (
    <div className="stack">
      <p className="soft">
        {count(source.rejected)} of {count(source.lines)} lines. At most twenty are kept for a week, with addresses and
        query values masked. If all of them look like your logs, the format is another one: set it with Edit.
      </p>
      <ul className="plain">
        {source.samples.map((sample) => (
          <li key={`${sample.at}${sample.line}`}>
            <div className="muted small">
              {when(sample.at)}: {sample.reason}
            </div>
            <code className="break small">{sample.line}</code>
          </li>
        ))}
      </ul>
      {source.samples.length === 0 && <p>None of the last seven days.</p>}
    </div>
  );
}

function Send({ fleet, made }: { fleet: Fleet; made: () => void }) {
  const create = api.useMutation("post", "/api/v1/fleets/{id}/shippers");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({ initialValues: { name: "" } });
  if (create.data)
    return (
      <div className="stack">
        <p className="soft">Run this on the machine that has the logs, with their files in place of the last word:</p>
        <Copy text={create.data.command} />
        <p className="muted small">
          The token is good for this fleet's logs alone and is shown once. The shipper goes on after a rotation, a
          restart and however long the coordinator is away. Vector and Fluent Bit can send as well: see deploy/logs.
        </p>
      </div>
    );
  return (
    <form
      className="form"
      onSubmit={form.onSubmit((values) => {
        setRefused(null);
        create.mutate(
          { params: { path: { id: fleet.id } }, body: { name: values.name } },
          {
            onSuccess: made,
            onError: (error) => setRefused(showRefusal(form, error, (f) => (f === "name" ? "name" : null))),
          },
        );
      })}
    >
      <TextInput
        label="Name"
        description="The machine or program that will send, such as lb-1."
        required
        data-autofocus
        {...form.getInputProps("name")}
      />
      {refused && <Refusal>{refused}</Refusal>}
      <div className="actions">
        <Button primary type="submit" busy={create.isPending}>
          Make the command
        </Button>
      </div>
    </form>
  );
}
