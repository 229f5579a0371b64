import { Modal, NativeSelect, Textarea, TextInput } from "@mantine/core";
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
import { tell } from "../../lib/tell";
import { ago, epoch, utc, when } from "../../lib/time";

type Fleet = Schemas["Fleet"];
type Source = Schemas["FleetSource"];

/** Who sends logs, how far behind they are, and what could not be read. */
export function SourcesCard({ fleet, now }: { fleet: Fleet; now: number }) {
  const role = useRole();
  const client = useQueryClient();
  const path = { id: fleet.id };
  const sources = api.useQuery("get", "/api/v1/fleets/{id}/sources", { params: { path } }, { refetchInterval: 5_000 });
  const shippers = api.useQuery("get", "/api/v1/fleets/{id}/shippers", { params: { path } });
  const revoke = api.useMutation("delete", "/api/v1/fleets/{id}/shippers/{shipper}");
  const [sending, setSending] = useState(false);
  const [reading, setReading] = useState<string | null>(null);
  const [editing, setEditing] = useState<string | null>(null);
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
          No line has arrived yet.{" "}
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
                  </th>
                  <td className="end">
                    <StateWord state={source.live ? "up" : "unknown"} word={stateWords(source, now)} />
                  </td>
                  <td className="second">
                    {source.format ?? "not found out yet"}{" "}
                    <span className="muted">
                      {source.role === "instance" ? "an instance's own log" : "a balancer's"},{" "}
                      {source.tz ?? "UTC unless the lines say"}
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
            done={() => {
              setEditing(null);
              tell(`${edited.name} is read so from its next lines on.`);
              void refresh();
            }}
          />
        )}
      </Modal>
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

const formats = [
  "nginx-combined",
  "nginx-json",
  "ingress-nginx",
  "nginx-error",
  "apache-common",
  "apache-combined",
  "apache-vhost",
  "haproxy",
  "envoy",
  "envoy-json",
  "aws-alb",
  "aws-alb-health",
  "traefik-json",
  "caddy-json",
  "generic-json",
];

type Mapping = Schemas["LogMapping"];

/** A mapping as lines of field=key. */
function lines(mapping: Mapping | null | undefined): string {
  return Object.entries(mapping ?? {})
    .filter(([, key]) => key != null && key !== false)
    .map(([field, key]) => `${field}=${String(key)}`)
    .join("\n");
}

/** The mapping that the lines say, if any; what its fields are is the coordinator's to judge. */
function keys(text: string): Mapping | null {
  const said = text.split("\n").filter((line) => line.trim() !== "");
  if (said.length === 0) return null;
  const pairs = said.map((line): [string, string | boolean] => {
    const at = line.indexOf("=");
    const field = (at < 0 ? line : line.slice(0, at)).trim();
    const key = at < 0 ? "" : line.slice(at + 1).trim();
    return [field, key === "true" ? true : key === "false" ? false : key];
  });
  return Object.fromEntries(pairs) as Mapping;
}

function SourceForm({ fleet, source, done }: { fleet: Fleet; source: Source; done: () => void }) {
  const save = api.useMutation("put", "/api/v1/fleets/{id}/sources/{source}");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({
    initialValues: {
      role: source.role as string,
      format: source.format_set ? (source.format ?? "") : "",
      log_format: source.log_format ?? "",
      mapping: lines(source.mapping),
      tz: source.tz ?? "",
    },
  });
  const optional = (text: string) => (text.trim() === "" ? null : text.trim());
  return (
    <form
      className="form"
      onSubmit={form.onSubmit((values) => {
        setRefused(null);
        save.mutate(
          {
            params: { path: { id: fleet.id, source: source.name } },
            body: {
              role: values.role as Source["role"],
              format: optional(values.log_format) || optional(values.mapping) ? null : optional(values.format),
              log_format: optional(values.log_format),
              mapping: keys(values.mapping),
              tz: optional(values.tz),
            },
          },
          {
            onSuccess: done,
            onError: (error) =>
              setRefused(
                showRefusal(form, error, (f) =>
                  f.split(".")[0] === "mapping" ? "mapping" : f in form.getValues() ? f : null,
                ),
              ),
          },
        );
      })}
    >
      <NativeSelect
        label="What its lines tell of"
        data={[
          { value: "balancer", label: "A balancer: requests to all instances" },
          { value: "instance", label: "An instance: its own requests" },
        ]}
        {...form.getInputProps("role")}
      />
      <NativeSelect
        label="Format"
        data={[{ value: "", label: "Find it out" }, ...formats]}
        {...form.getInputProps("format")}
      />
      <Textarea
        label="nginx log_format"
        description="As it stands in its configuration, if it is one of your own. It then counts instead of the format."
        autosize
        minRows={2}
        classNames={{ input: "mono-input" }}
        {...form.getInputProps("log_format")}
      />
      <Textarea
        label="Keys of JSON lines"
        description="One field=key a line, such as time=when and status=answer.code, for JSON of your own. It then counts instead of the format."
        autosize
        minRows={2}
        classNames={{ input: "mono-input" }}
        {...form.getInputProps("mapping")}
      />
      <TextInput
        label="Time zone"
        description="Of times that carry none, such as Europe/Berlin. Empty: UTC."
        {...form.getInputProps("tz")}
      />
      {refused && <Refusal>{refused}</Refusal>}
      <div className="actions">
        <Button primary type="submit" busy={save.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}
