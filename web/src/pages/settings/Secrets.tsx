import { Modal, PasswordInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ConfirmDelete } from "../../components/Confirm";
import { Empty, Failed, Loading, Refusal } from "../../components/Status";
import { list } from "../../lib/format";
import { showRefusal } from "../../lib/formErrors";
import { tell } from "../../lib/tell";
import { useNow } from "../../lib/ticker";
import { ago, utc } from "../../lib/time";

type Secret = Schemas["Secret"];

/** Values that checks name as `${secret:NAME}`; they can be replaced, never read. */
export function SecretsCard() {
  const role = useRole();
  const now = useNow();
  const secrets = api.useQuery("get", "/api/v1/secrets");
  const remove = api.useMutation("delete", "/api/v1/secrets/{name}");
  const [setting, setSetting] = useState<string | null>(null);
  const [deleting, setDeleting] = useState<Secret | null>(null);
  const admin = role("admin");
  return (
    <Card
      title="Secrets"
      beside={
        <>
          used in checks as <code>{"${secret:NAME}"}</code>, sent only to agents that need them
        </>
      }
      actions={
        admin && (
          <Button compact onClick={() => setSetting("")}>
            New secret
          </Button>
        )
      }
    >
      {secrets.isPending && <Loading rows={1} />}
      {secrets.isError && <Failed error={secrets.error} retry={() => void secrets.refetch()} />}
      {secrets.data?.items.length === 0 && (
        <Empty>None. A password typed into a check is kept as one of its own.</Empty>
      )}
      {secrets.data && secrets.data.items.length > 0 && (
        <table className="grid folds">
          <caption className="hidden-visually">Secrets</caption>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Used by</th>
              <th scope="col">Set</th>
              <th scope="col">
                <span className="hidden-visually">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {secrets.data.items.map((secret) => (
              <tr key={secret.name}>
                <th scope="row">
                  <code>{secret.name}</code>
                </th>
                <td className="second">
                  {secret.used_by.length > 0 ? list(secret.used_by) : <span className="muted">nothing</span>}
                </td>
                <td title={utc(secret.updated_at)}>{ago(secret.updated_at, now)}</td>
                <td className="num end">
                  {admin && (
                    <span className="actions">
                      <Button compact onClick={() => setSetting(secret.name)}>
                        Replace
                      </Button>
                      <Button compact onClick={() => setDeleting(secret)}>
                        Delete
                      </Button>
                    </span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <Modal
        opened={setting !== null}
        onClose={() => setSetting(null)}
        title={setting ? `Replace ${setting}` : "New secret"}
      >
        {setting !== null && (
          <SecretForm
            name={setting}
            done={() => {
              setSetting(null);
              void secrets.refetch();
            }}
          />
        )}
      </Modal>
      <ConfirmDelete
        opened={deleting !== null}
        close={() => setDeleting(null)}
        title="Delete a secret"
        name={deleting?.name ?? ""}
        act={async () => {
          if (deleting) await remove.mutateAsync({ params: { path: { name: deleting.name } } });
          await secrets.refetch();
        }}
      >
        Its value is gone for good.
      </ConfirmDelete>
    </Card>
  );
}

function SecretForm({ name, done }: { name: string; done: () => void }) {
  const put = api.useMutation("put", "/api/v1/secrets/{name}");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({ initialValues: { name, value: "" } });
  return (
    <form
      className="form"
      onSubmit={form.onSubmit((v) => {
        setRefused(null);
        put.mutate(
          { params: { path: { name: v.name.trim() } }, body: { value: v.value } },
          {
            onSuccess: () => {
              tell(`${v.name} is set; agents that use it have it.`);
              done();
            },
            onError: (error) => setRefused(showRefusal(form, error, (f) => (f in v ? f : null))),
          },
        );
      })}
    >
      {name === "" && (
        <TextInput
          label="Name"
          description="Letters, digits, _ - and ."
          required
          data-autofocus
          {...form.getInputProps("name")}
        />
      )}
      <PasswordInput label="Value" autoComplete="new-password" required {...form.getInputProps("value")} />
      {refused && <Refusal>{refused}</Refusal>}
      <div className="actions">
        <Button primary type="submit" busy={put.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}
