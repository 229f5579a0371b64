import { TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { useRole } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { StateWord } from "../../components/StateMark";
import { Failed, Loading, Refusal } from "../../components/Status";
import { showRefusal } from "../../lib/formErrors";
import { tell } from "../../lib/tell";
import { useNow } from "../../lib/ticker";
import { when } from "../../lib/time";

/** Settings → Dead-man ping: who notices when Quorate itself is gone? */
export function DeadmanCard() {
  const deadman = api.useQuery("get", "/api/v1/settings/deadman", undefined, { refetchInterval: 10_000 });
  const role = useRole();
  return (
    <Card
      title="Dead-man ping"
      beside={
        deadman.data && !deadman.data.configured ? "not set: nobody notices when Quorate itself is gone" : undefined
      }
    >
      {deadman.isPending && <Loading rows={2} />}
      {deadman.isError && <Failed error={deadman.error} retry={() => void deadman.refetch()} />}
      {deadman.data && (
        <div className="body stack">
          <Standing deadman={deadman.data} />
          {role("admin") && <Form key={deadman.data.place} configured={deadman.data.configured} />}
        </div>
      )}
    </Card>
  );
}

function Standing({ deadman }: { deadman: Schemas["Deadman"] }) {
  const now = useNow();
  if (!deadman.configured) return null;
  const answered = deadman.answered;
  return (
    <>
      {deadman.withheld && (
        <p className="row">
          <StateWord state="unknown" word="Withheld" />
          <span className="break">{deadman.withheld}</span>
        </p>
      )}
      <p className="row">
        {deadman.pinged_at ? (
          <>
            <StateWord
              state={answered === null ? "pending" : answered ? "up" : "down"}
              word={answered === null ? "Sent" : answered ? "Accepted" : "Refused"}
            />
            <span className="break">
              Last ping to {deadman.place} {when(deadman.pinged_at, now)}
              {deadman.answer ? `: ${deadman.answer}` : ""}
            </span>
          </>
        ) : (
          <span className="muted">{deadman.place} has not been pinged yet.</span>
        )}
      </p>
    </>
  );
}

function Form({ configured }: { configured: boolean }) {
  const client = useQueryClient();
  const put = api.useMutation("put", "/api/v1/settings/deadman");
  const remove = api.useMutation("delete", "/api/v1/settings/deadman");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({ initialValues: { url: "" } });
  const refresh = () => void client.invalidateQueries();
  return (
    <form
      className="form"
      onSubmit={form.onSubmit((body) => {
        setRefused(null);
        put.mutate(
          { body },
          {
            onSuccess: () => {
              tell("The dead-man ping is set.");
              form.reset();
              refresh();
            },
            onError: (error) => setRefused(showRefusal(form, error, (f) => (f === "url" ? f : null))),
          },
        );
      })}
    >
      <TextInput
        label={configured ? "Another address" : "Address"}
        description="An external watch that raises the alarm when it is not asked for some minutes. Asked every minute, while agents call, monitors are looked at and alerts leave. Stored encrypted."
        placeholder="https://watch.example/ping/key"
        required
        autoComplete="off"
        {...form.getInputProps("url")}
      />
      {refused && <Refusal>{refused}</Refusal>}
      <div className="actions">
        <Button primary type="submit" busy={put.isPending}>
          Save
        </Button>
        {configured && (
          <Button
            busy={remove.isPending}
            onClick={() =>
              remove.mutate({}, { onSettled: refresh, onError: (error) => setRefused(problemOf(error).message) })
            }
          >
            Stop pinging
          </Button>
        )}
      </div>
    </form>
  );
}
