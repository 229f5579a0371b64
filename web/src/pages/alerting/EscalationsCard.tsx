import { Modal } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button } from "../../components/Button";
import { Calls } from "../../components/Calls";
import { Card } from "../../components/Card";
import { ConfirmDelete } from "../../components/Confirm";
import { Empty, Failed, Loading } from "../../components/Status";
import { callPlan } from "../../lib/calls";
import { plural, span } from "../../lib/format";
import { useUrlState } from "../../lib/useUrlState";
import { EscalationForm } from "./EscalationForm";
import { stepsInWords } from "./escalations";

type Escalation = Schemas["Escalation"];

/** Who is called when, if nobody is at an incident. */
export function EscalationsCard({ channels }: { channels: readonly Schemas["Channel"][] }) {
  const client = useQueryClient();
  const editor = useRole()("editor");
  const escalations = api.useQuery("get", "/api/v1/escalations");
  const remove = api.useMutation("delete", "/api/v1/escalations/{id}");
  const [open, setOpen] = useUrlState("escalation");
  const [deleting, setDeleting] = useState<Escalation | null>(null);
  const items = escalations.data?.items ?? [];
  const names = new Map(channels.map((c) => [c.id, c.name]));
  const edited = items.find((one) => one.id === open);
  const refresh = () => client.invalidateQueries();
  const close = () => setOpen("");
  return (
    <Card
      title="Escalations"
      actions={
        editor && (
          <Button compact onClick={() => setOpen("new", true)}>
            Add an escalation
          </Button>
        )
      }
    >
      {escalations.isPending && <Loading rows={2} />}
      {escalations.isError && <Failed error={escalations.error} retry={() => void escalations.refetch()} />}
      {escalations.data && items.length === 0 && (
        <Empty>
          None yet: channels are told at once, and nobody later.{" "}
          {editor && "With an escalation somebody else is called if nobody acknowledges."}
        </Empty>
      )}
      {items.length > 0 && (
        <table className="grid folds">
          <caption className="hidden-visually">Escalations</caption>
          <thead>
            <tr>
              <th scope="col">Escalation</th>
              <th scope="col">Who is told when</th>
              <th scope="col">Reminders</th>
              <th scope="col">
                <span className="hidden-visually">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {items.map((one) => (
              <tr key={one.id}>
                <th scope="row">{one.name}</th>
                <td className="break">
                  {stepsInWords(one, names)}
                  <Calls plan={callPlan(one, names)} />
                </td>
                <td className="second">{one.reminder_s ? `every ${span(one.reminder_s)}` : "none"}</td>
                <td className="num end">
                  {editor && (
                    <span className="actions">
                      <Button compact aria-label={`Edit ${one.name}`} onClick={() => setOpen(one.id, true)}>
                        Edit
                      </Button>
                      <Button compact aria-label={`Delete ${one.name}`} onClick={() => setDeleting(one)}>
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
        opened={editor && (open === "new" || edited !== undefined)}
        onClose={close}
        title={edited ? `Change ${edited.name}` : "Add an escalation"}
        size={560}
      >
        {channels.length === 0 ? (
          <p>Add a channel first: steps name channels.</p>
        ) : (
          <EscalationForm
            channels={channels}
            escalation={edited}
            done={() => {
              close();
              void refresh();
            }}
          />
        )}
      </Modal>
      <ConfirmDelete
        opened={deleting !== null}
        close={() => setDeleting(null)}
        title="Delete an escalation"
        name={deleting?.name ?? ""}
        act={async () => {
          if (deleting) await remove.mutateAsync({ params: { path: { id: deleting.id } } });
          await refresh();
        }}
      >
        {deleting && `${plural(deleting.steps.length, "step")} will be gone.`} Incidents that are open go on by their
        copy.
      </ConfirmDelete>
    </Card>
  );
}
