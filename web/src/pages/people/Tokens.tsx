import { Modal, Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ConfirmDelete } from "../../components/Confirm";
import { Copy } from "../../components/Copy";
import { Empty, Failed, Loading, Refusal } from "../../components/Status";
import { showRefusal } from "../../lib/formErrors";
import { useNow } from "../../lib/ticker";
import { ago, utc, when } from "../../lib/time";
import { roles } from "./roles";

type Token = Schemas["ApiToken"];

export function Tokens() {
  const client = useQueryClient();
  const tokens = api.useQuery("get", "/api/v1/tokens");
  const revoke = api.useMutation("delete", "/api/v1/tokens/{id}");
  const now = useNow();
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<Schemas["CreatedToken"] | null>(null);
  const [ending, setEnding] = useState<Token | null>(null);
  const refresh = () => client.invalidateQueries({ queryKey: api.queryOptions("get", "/api/v1/tokens").queryKey });
  const living = tokens.data?.items.filter((token) => !token.revoked_at) ?? [];
  return (
    <Card
      title="API tokens"
      beside="for scripts and pipelines"
      actions={
        <Button compact onClick={() => setAdding(true)}>
          New token
        </Button>
      }
    >
      {tokens.isPending && <Loading rows={2} />}
      {tokens.isError && <Failed error={tokens.error} retry={() => void tokens.refetch()} />}
      {tokens.data && living.length === 0 && (
        <Empty>
          No token yet. Make one, and send it as <code>Authorization: Bearer qrt_…</code>;{" "}
          <code>/api/v1/openapi.json</code> lists what can be called.
        </Empty>
      )}
      {living.length > 0 && (
        <div className="scroll-x">
          <table className="grid folds">
            <caption className="hidden-visually">API tokens</caption>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Role</th>
                <th scope="col">Made</th>
                <th scope="col">Last used</th>
                <th scope="col">Ends</th>
                <th scope="col">
                  <span className="hidden-visually">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {living.map((token) => (
                <tr key={token.id}>
                  <th scope="row">{token.name}</th>
                  <td>{token.role}</td>
                  <td className="second" title={utc(token.created_at)}>
                    {ago(token.created_at, now)} by {token.created_by}
                  </td>
                  <td className="off" title={utc(token.last_used_at)}>
                    {token.last_used_at ? ago(token.last_used_at, now) : "never"}
                  </td>
                  <td className="off" title={utc(token.expires_at)}>
                    {token.expires_at ? when(token.expires_at) : "never"}
                  </td>
                  <td className="num end">
                    <Button compact onClick={() => setEnding(token)}>
                      Revoke
                    </Button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Modal opened={adding} onClose={() => setAdding(false)} title="New token">
        <NewToken
          done={(token) => {
            setAdding(false);
            setMade(token);
            void refresh();
          }}
        />
      </Modal>
      <Modal opened={made !== null} onClose={() => setMade(null)} title={`Token ${made?.token.name ?? ""}`} size={560}>
        <div className="stack">
          <p>It is shown this once, and kept as a hash only.</p>
          {made && <Copy text={made.secret} />}
        </div>
      </Modal>
      <ConfirmDelete
        opened={ending !== null}
        close={() => setEnding(null)}
        title="Revoke a token"
        verb="Revoke"
        name={ending?.name ?? ""}
        act={async () => {
          if (ending) await revoke.mutateAsync({ params: { path: { id: ending.id } } });
          await refresh();
        }}
      >
        Whatever uses it is refused from then on.
      </ConfirmDelete>
    </Card>
  );
}

const lives = [
  { value: "0", label: "does not end" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "a year" },
];

function NewToken({ done }: { done: (token: Schemas["CreatedToken"]) => void }) {
  const create = api.useMutation("post", "/api/v1/tokens");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({ initialValues: { name: "", role: "viewer", days: "90" } });
  return (
    <form
      className="form"
      onSubmit={form.onSubmit(({ name, role, days }) => {
        setRefused(null);
        const expires_at = days === "0" ? null : new Date(Date.now() + Number(days) * 86_400_000).toISOString();
        create.mutate(
          { body: { name, role: role as Schemas["Role"], expires_at } },
          {
            onSuccess: done,
            onError: (error) =>
              setRefused(
                showRefusal(form, error, (f) =>
                  f === "expires_at" ? "days" : f === "name" || f === "role" ? f : null,
                ),
              ),
          },
        );
      })}
    >
      <TextInput label="Name" description="What will use it." required data-autofocus {...form.getInputProps("name")} />
      <div className="fields">
        <Select label="Role" data={roles} {...form.getInputProps("role")} />
        <Select label="Ends after" data={lives} {...form.getInputProps("days")} />
      </div>
      {refused && <Refusal>{refused}</Refusal>}
      <div className="actions">
        <Button primary type="submit" busy={create.isPending}>
          Make the token
        </Button>
      </div>
    </form>
  );
}
