import { Menu } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button, ButtonLink } from "../../components/Button";
import { ConfirmDelete } from "../../components/Confirm";
import { useKeys } from "../../lib/keys";
import { tell, tellProblem } from "../../lib/tell";
import { tellUndo } from "../../lib/undo";
import { isHeartbeat } from "./job";

/** What an editor can do with a monitor; a viewer sees none of it. */
export function Actions({
  monitor,
  incident,
  probe,
  probing,
}: {
  monitor: Schemas["Monitor"];
  incident: Schemas["IncidentRow"] | null;
  probe: () => void;
  probing: boolean;
}) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const role = useRole();
  const change = api.useMutation("patch", "/api/v1/monitors/{id}");
  const remove = api.useMutation("delete", "/api/v1/monitors/{id}");
  const ack = api.useMutation("post", "/api/v1/incidents/{id}/ack");
  const unack = api.useMutation("post", "/api/v1/incidents/{id}/unack");
  const [deleting, setDeleting] = useState(false);
  const job = isHeartbeat(monitor);
  const refresh = () => void client.invalidateQueries();
  const set = (enabled: boolean, undoable: boolean) =>
    change.mutate(
      { params: { path: { id: monitor.id } }, body: { enabled } },
      {
        onError: tellProblem,
        onSettled: refresh,
        onSuccess: () => {
          const said = enabled
            ? job
              ? `${monitor.name} waits for its first call.`
              : `${monitor.name} is probed again.`
            : `${monitor.name} is paused; nobody is told anything about it.`;
          if (undoable) tellUndo(said, () => set(!enabled, false));
          else tell(said);
        },
      },
    );
  const acknowledge = () => {
    if (!incident || incident.acked_at || !role("editor")) return;
    const target = { params: { path: { id: incident.id } } };
    ack.mutate(
      { ...target, body: {} },
      {
        onError: tellProblem,
        onSettled: refresh,
        onSuccess: () =>
          tellUndo("Acknowledged: escalation and reminders stop.", () =>
            unack.mutate(target, { onSettled: refresh, onError: tellProblem }),
          ),
      },
    );
  };
  useKeys({ a: acknowledge });
  if (!role("editor")) return null;
  return (
    <div className="actions">
      {incident && !incident.acked_at && (
        <Button primary busy={ack.isPending} onClick={acknowledge}>
          Acknowledge
        </Button>
      )}
      {!job && (
        <Button busy={probing} onClick={probe}>
          Probe now
        </Button>
      )}
      <Button busy={change.isPending} onClick={() => set(!monitor.enabled, true)}>
        {monitor.enabled ? "Pause" : "Resume"}
      </Button>
      <ButtonLink to={`/monitors/${monitor.id}/edit`}>Edit</ButtonLink>
      <Menu position="bottom-end">
        <Menu.Target>
          <button type="button" className="button" aria-label="More actions">
            …
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          {!job && (
            <Menu.Item onClick={() => navigate(`/monitors/${monitor.id}/what-if`)}>Try another policy</Menu.Item>
          )}
          <Menu.Item onClick={() => navigate(`/monitors/new?copy=${monitor.id}`)}>Copy for another</Menu.Item>
          <Menu.Item onClick={() => navigate(`/maintenance/new?monitor=${monitor.id}`)}>Plan maintenance</Menu.Item>
          <Menu.Divider />
          <Menu.Item onClick={() => setDeleting(true)}>Delete…</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmDelete
        opened={deleting}
        close={() => setDeleting(false)}
        title="Delete a monitor"
        name={monitor.name}
        act={async () => {
          await remove.mutateAsync({ params: { path: { id: monitor.id } } });
          tell(`${monitor.name} is deleted.`);
          navigate("/monitors");
          refresh();
        }}
      >
        {job ? "Its address opens nothing any more." : "Probing ends at once."} An open incident is resolved, and its
        channels are told so. Pausing keeps everything.
      </ConfirmDelete>
    </div>
  );
}
