import { Modal, Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { useMe } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { Copy } from "../../components/Copy";
import { Failed, Loading, Refusal } from "../../components/Status";
import { StateWord } from "../../components/StateMark";
import { plural } from "../../lib/format";
import { showRefusal } from "../../lib/formErrors";
import { tell, tellProblem } from "../../lib/tell";
import { useNow } from "../../lib/ticker";
import { ago, utc, when } from "../../lib/time";
import { roles } from "./roles";

type Link = Schemas["IssuedLink"];

export function Users() {
  const client = useQueryClient();
  const users = api.useQuery("get", "/api/v1/users");
  const change = api.useMutation("patch", "/api/v1/users/{id}");
  const recover = api.useMutation("post", "/api/v1/users/{id}/recovery");
  const me = useMe();
  const now = useNow();
  const [inviting, setInviting] = useState(false);
  const [link, setLink] = useState<{ link: Link; purpose: string } | null>(null);
  const refresh = () => client.invalidateQueries({ queryKey: api.queryOptions("get", "/api/v1/users").queryKey });
  const save = (user: Schemas["User"], body: Schemas["ChangeUser"], said: string) =>
    change.mutate(
      { params: { path: { id: user.id } }, body },
      { onSuccess: () => tell(said), onError: tellProblem, onSettled: () => void refresh() },
    );
  return (
    <Card
      title="People"
      beside={users.data && plural(users.data.items.length, "person", "people")}
      actions={
        <Button compact primary onClick={() => setInviting(true)}>
          Invite
        </Button>
      }
    >
      {users.isPending && <Loading rows={2} />}
      {users.isError && <Failed error={users.error} retry={() => void users.refetch()} />}
      {users.data && (
        <div className="scroll-x">
          <table className="grid folds">
            <caption className="hidden-visually">People, with role and last visit</caption>
            <thead>
              <tr>
                <th scope="col">E-mail</th>
                <th scope="col">Name</th>
                <th scope="col">Role</th>
                <th scope="col">Sign-in</th>
                <th scope="col">Last seen</th>
                <th scope="col">
                  <span className="hidden-visually">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {users.data.items.map((user) => {
                const self = me?.user?.id === user.id;
                return (
                  <tr key={user.id}>
                    <th scope="row" className="whole">
                      {user.email} {self && <span className="tag">you</span>}
                    </th>
                    <td className="second">{user.name || <span className="muted">–</span>}</td>
                    <td>
                      <Select
                        aria-label={`Role of ${user.email}`}
                        data={roles}
                        value={user.role}
                        disabled={self}
                        w={120}
                        size="xs"
                        onChange={(role) =>
                          role && save(user, { role: role as Schemas["Role"] }, `${user.email} is ${role} now.`)
                        }
                      />
                    </td>
                    <td>{user.disabled ? <StateWord state="disabled" /> : "allowed"}</td>
                    <td className="off" title={utc(user.last_seen_at)}>
                      {user.last_seen_at ? ago(user.last_seen_at, now) : "never"}
                    </td>
                    <td className="num">
                      <span className="actions">
                        <Button
                          compact
                          onClick={() =>
                            recover.mutate(
                              { params: { path: { id: user.id } } },
                              {
                                onSuccess: (made) => setLink({ link: made, purpose: "choose a new password" }),
                                onError: tellProblem,
                              },
                            )
                          }
                        >
                          Recovery link
                        </Button>
                        {!self && (
                          <Button
                            compact
                            onClick={() =>
                              save(
                                user,
                                { disabled: !user.disabled },
                                user.disabled
                                  ? `${user.email} may sign in again.`
                                  : `${user.email} is signed out and may not sign in.`,
                              )
                            }
                          >
                            {user.disabled ? "Allow again" : "Switch off"}
                          </Button>
                        )}
                      </span>
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      <Modal opened={inviting} onClose={() => setInviting(false)} title="Invite somebody">
        <InviteForm
          done={(made) => {
            setInviting(false);
            setLink({ link: made, purpose: "choose a password" });
            void refresh();
          }}
        />
      </Modal>
      <Modal opened={link !== null} onClose={() => setLink(null)} title="One-time link" size={560}>
        {link && (
          <div className="stack">
            <p>
              Send this to <b>{link.link.email}</b>, who can {link.purpose} with it, once, until{" "}
              {when(link.link.expires_at)}. It is not shown again.
            </p>
            <Copy text={link.link.url} />
          </div>
        )}
      </Modal>
    </Card>
  );
}

function InviteForm({ done }: { done: (link: Link) => void }) {
  const invite = api.useMutation("post", "/api/v1/users/invite");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({ initialValues: { email: "", role: "editor" } });
  return (
    <form
      className="form"
      onSubmit={form.onSubmit((values) => {
        setRefused(null);
        invite.mutate(
          { body: { email: values.email, role: values.role as Schemas["Role"] } },
          {
            onSuccess: done,
            onError: (error) => setRefused(showRefusal(form, error, (f) => (f in values ? f : null))),
          },
        );
      })}
    >
      <TextInput label="E-mail" type="email" required data-autofocus {...form.getInputProps("email")} />
      <Select label="Role" data={roles} {...form.getInputProps("role")} />
      {refused && <Refusal>{refused}</Refusal>}
      <div className="actions">
        <Button primary type="submit" busy={invite.isPending}>
          Make the link
        </Button>
      </div>
    </form>
  );
}
