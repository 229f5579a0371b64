import { PasswordInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { useMe } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { Page } from "../../components/Page";
import { Failed, Loading, Refusal } from "../../components/Status";
import { showRefusal } from "../../lib/formErrors";
import { tell, tellProblem } from "../../lib/tell";
import { useNow } from "../../lib/ticker";
import { ago, utc, when } from "../../lib/time";

/** One's own name, password and sessions. */
export function AccountPage() {
  const me = useMe();
  return (
    <Page crumbs={[{ word: "Account" }]}>
      <h1>{me?.user?.email ?? me?.name ?? "Account"}</h1>
      {me?.user ? (
        <>
          <div className="two">
            <NameCard name={me.user.name} />
            <PasswordCard email={me.user.email} />
          </div>
          <Sessions />
        </>
      ) : (
        <p className="lead">A token is signed in, so there is no password and no session.</p>
      )}
    </Page>
  );
}

function NameCard({ name }: { name: string }) {
  const client = useQueryClient();
  const change = api.useMutation("patch", "/api/v1/users/me");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({ initialValues: { name } });
  return (
    <Card title="Name" beside="as others see it beside what you do">
      <form
        className="body form"
        onSubmit={form.onSubmit((body) => {
          setRefused(null);
          change.mutate(
            { body },
            {
              onSuccess: () => {
                tell("Name saved.");
                void client.invalidateQueries();
              },
              onError: (error) => setRefused(showRefusal(form, error, (f) => (f === "name" ? f : null))),
            },
          );
        })}
      >
        <TextInput label="Name" autoComplete="name" {...form.getInputProps("name")} />
        {refused && <Refusal>{refused}</Refusal>}
        <div className="actions">
          <Button type="submit" busy={change.isPending}>
            Save
          </Button>
        </div>
      </form>
    </Card>
  );
}

function PasswordCard({ email }: { email: string }) {
  const client = useQueryClient();
  const change = api.useMutation("post", "/api/v1/users/me/password");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({
    initialValues: { current: "", new: "" },
    validate: { new: (v) => (v.length < 10 ? "Use at least 10 characters; a sentence is fine." : null) },
  });
  return (
    <Card title="Password" beside="other sessions end when it changes">
      <form
        className="body form"
        onSubmit={form.onSubmit((body) => {
          setRefused(null);
          change.mutate(
            { body },
            {
              onSuccess: () => {
                form.reset();
                tell("Password changed; other sessions have ended.");
                void client.invalidateQueries();
              },
              onError: (error) =>
                setRefused(showRefusal(form, error, (f) => (f === "current" || f === "new" ? f : null))),
            },
          );
        })}
      >
        <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
        <PasswordInput
          label="Present password"
          autoComplete="current-password"
          required
          {...form.getInputProps("current")}
        />
        <PasswordInput
          label="New password"
          description="At least 10 characters."
          autoComplete="new-password"
          required
          {...form.getInputProps("new")}
        />
        {refused && <Refusal>{refused}</Refusal>}
        <div className="actions">
          <Button type="submit" busy={change.isPending}>
            Change
          </Button>
        </div>
      </form>
    </Card>
  );
}

function Sessions() {
  const sessions = api.useQuery("get", "/api/v1/users/me/sessions");
  const end = api.useMutation("delete", "/api/v1/users/me/sessions/{id}");
  const now = useNow();
  return (
    <Card title="Sessions" beside="where you are signed in">
      {sessions.isPending && <Loading rows={2} />}
      {sessions.isError && <Failed error={sessions.error} retry={() => void sessions.refetch()} />}
      {sessions.data && (
        <table className="grid folds">
          <caption className="hidden-visually">Your sessions</caption>
          <thead>
            <tr>
              <th scope="col">Browser</th>
              <th scope="col">Since</th>
              <th scope="col">Last seen</th>
              <th scope="col">
                <span className="hidden-visually">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {sessions.data.items.map((session) => (
              <tr key={session.id}>
                <td className="second break">{session.user_agent || "unknown"}</td>
                <td title={utc(session.created_at)}>{when(session.created_at, now)}</td>
                <td title={utc(session.last_seen_at)}>
                  {session.current ? "this one" : ago(session.last_seen_at, now)}
                </td>
                <td className="num end">
                  {!session.current && (
                    <Button
                      compact
                      onClick={() =>
                        end.mutate(
                          { params: { path: { id: session.id } } },
                          { onError: tellProblem, onSettled: () => void sessions.refetch() },
                        )
                      }
                    >
                      End
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}
