import { Menu, Modal } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ConfirmDelete } from "../../components/Confirm";
import { Copy } from "../../components/Copy";
import { Page } from "../../components/Page";
import { StateMark } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { list, plural } from "../../lib/format";
import { tell, tellProblem } from "../../lib/tell";
import { useUrlState } from "../../lib/useUrlState";
import { ChannelForm } from "./ChannelForm";
import { ChannelTable, type Tested } from "./ChannelTable";
import { EscalationsCard } from "./EscalationsCard";
import { kinds } from "./kinds";
import { RoutesCard } from "./RoutesCard";

type Channel = Schemas["Channel"];

/** Alerting: who is told when. */
export function AlertingPage() {
  const client = useQueryClient();
  const role = useRole();
  const channels = api.useQuery("get", "/api/v1/channels");
  const health = api.useQuery("get", "/api/v1/health");
  const test = api.useMutation("post", "/api/v1/channels/{id}/test");
  const change = api.useMutation("patch", "/api/v1/channels/{id}");
  const remove = api.useMutation("delete", "/api/v1/channels/{id}");
  const [adding, setAdding] = useUrlState("add");
  const [editing, setEditing] = useUrlState("edit");
  const [tested, setTested] = useState<Record<string, Tested>>({});
  const [made, setMade] = useState<{ name: string; secret: string } | null>(null);
  const [deleting, setDeleting] = useState<Channel | null>(null);
  const items = channels.data?.items ?? [];
  const editor = role("editor");
  const toEdit = items.find((c) => c.id === editing);
  const kind = kinds.find((k) => k.kind === adding);
  const refresh = () =>
    client.invalidateQueries({
      predicate: (q) => ["/api/v1/channels", "/api/v1/health"].includes(String(q.queryKey[1])),
    });
  const send = (channel: Channel) => {
    setTested((before) => ({ ...before, [channel.id]: "busy" }));
    test.mutate(
      { params: { path: { id: channel.id } } },
      {
        onSuccess: (result) => setTested((before) => ({ ...before, [channel.id]: result })),
        onError: (error) => {
          setTested(({ [channel.id]: _, ...rest }) => rest);
          tellProblem(error);
        },
        onSettled: () => void refresh(),
      },
    );
  };
  return (
    <Page crumbs={[{ word: "Alerting" }]}>
      <div className="headline">
        <div>
          <h1>{channels.data ? alertingSentence(items) : "Alerting"}</h1>
          <p className="lead">
            A channel that is a default hears every monitor that names none itself and that no route leads elsewhere.
            Send a test: a channel that never delivered is a guess.
          </p>
        </div>
        {editor && (
          <div className="actions">
            {kinds.slice(0, 2).map((k) => (
              <Button key={k.kind} primary={k.kind === "email"} onClick={() => setAdding(k.kind, true)}>
                Add {k.word.toLowerCase()}
              </Button>
            ))}
            <Menu position="bottom-end" width={320}>
              <Menu.Target>
                <button type="button" className="button">
                  Add chat or paging…
                </button>
              </Menu.Target>
              <Menu.Dropdown>
                {kinds.slice(2).map((k) => (
                  <Menu.Item key={k.kind} onClick={() => setAdding(k.kind, true)}>
                    <b>{k.word}</b> <span className="muted">{k.says}</span>
                  </Menu.Item>
                ))}
              </Menu.Dropdown>
            </Menu>
          </div>
        )}
      </div>
      {health.data && !health.data.mail_configured && items.some((c) => c.kind === "email") && (
        <section className="card edged edge-slow note">
          <StateMark state="slow" />
          <p>
            <b>No mail server is set,</b> so mail channels cannot send.{" "}
            {role("admin") ? <Link to="/settings">Set one</Link> : "An administrator can set one."}
          </p>
        </section>
      )}
      <Card title="Channels" beside={channels.data && plural(items.length, "channel")}>
        {channels.isPending && <Loading rows={3} />}
        {channels.isError && <Failed error={channels.error} retry={() => void channels.refetch()} />}
        {channels.data && items.length === 0 && (
          <Empty>
            Nobody is told anything yet.{" "}
            {editor ? "Add a channel; a test is sent before you rely on it." : "An editor can add a channel."}
          </Empty>
        )}
        {items.length > 0 && (
          <ChannelTable
            channels={items}
            tested={tested}
            actions={(channel) =>
              editor && (
                <span className="actions">
                  <Button compact busy={tested[channel.id] === "busy"} onClick={() => send(channel)}>
                    Send test
                  </Button>
                  <Menu position="bottom-end">
                    <Menu.Target>
                      <button type="button" className="button compact" aria-label={`Change ${channel.name}`}>
                        …
                      </button>
                    </Menu.Target>
                    <Menu.Dropdown>
                      <Menu.Item onClick={() => setEditing(channel.id, true)}>Edit</Menu.Item>
                      <Menu.Item
                        onClick={() =>
                          change.mutate(
                            { params: { path: { id: channel.id } }, body: { enabled: !channel.enabled } },
                            {
                              onError: tellProblem,
                              onSettled: () => void refresh(),
                              onSuccess: () =>
                                tell(
                                  channel.enabled ? `${channel.name} is switched off.` : `${channel.name} hears again.`,
                                ),
                            },
                          )
                        }
                      >
                        {channel.enabled ? "Switch off" : "Switch on"}
                      </Menu.Item>
                      <Menu.Divider />
                      <Menu.Item onClick={() => setDeleting(channel)}>Delete…</Menu.Item>
                    </Menu.Dropdown>
                  </Menu>
                </span>
              )
            }
          />
        )}
      </Card>
      <EscalationsCard channels={items} />
      <RoutesCard channels={items} />
      <Modal
        opened={kind !== undefined && editor}
        onClose={() => setAdding("")}
        title={`Add ${kind && kinds.indexOf(kind) < 2 ? kind.word.toLowerCase() : (kind?.word ?? "")}`}
        size={520}
      >
        {kind && (
          <ChannelForm
            kind={kind.kind}
            done={({ channel, secret }) => {
              setAdding("");
              if (secret) setMade({ name: channel.name, secret });
              void refresh().then(() => send(channel));
            }}
          />
        )}
      </Modal>
      <Modal
        opened={toEdit !== undefined && editor}
        onClose={() => setEditing("")}
        title={`Change ${toEdit?.name ?? ""}`}
        size={520}
      >
        {toEdit && (
          <ChannelForm
            kind={toEdit.kind}
            channel={toEdit}
            done={() => {
              setEditing("");
              void refresh();
            }}
          />
        )}
      </Modal>
      <Modal
        opened={made !== null}
        onClose={() => setMade(null)}
        title={`Signing key of ${made?.name ?? ""}`}
        size={560}
      >
        <div className="stack">
          <p>
            Give it to the receiver, which checks the header <code>webhook-signature</code> with it. It is not shown
            again.
          </p>
          {made && <Copy text={made.secret} />}
        </div>
      </Modal>
      <ConfirmDelete
        opened={deleting !== null}
        close={() => setDeleting(null)}
        title="Delete a channel"
        name={deleting?.name ?? ""}
        act={async () => {
          if (deleting) await remove.mutateAsync({ params: { path: { id: deleting.id } } });
          await refresh();
        }}
      >
        Nobody hears through it any more, and what waits to be sent is dropped.
      </ConfirmDelete>
    </Page>
  );
}

/** Who is told when something goes down. */
export function alertingSentence(channels: readonly Channel[]): string {
  const told = channels.filter((c) => c.default && c.enabled).map((c) => c.name);
  if (channels.length === 0) return "If something goes down, nobody is told.";
  if (told.length === 0) return "No channel is a default, so only monitors that name their channels tell anybody.";
  return `If something goes down, ${list(told)} ${told.length === 1 ? "is" : "are"} told at once.`;
}
