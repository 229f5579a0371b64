import { Modal, Textarea } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { useRole } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { keepFocus, OrderButtons, useSaid } from "../../components/Order";
import { PickMonitor } from "../../components/Pick";
import { Empty, Failed, Loading, Refusal } from "../../components/Status";
import { list } from "../../lib/format";
import { parseLabels } from "../../lib/labels";
import { tellProblem } from "../../lib/tell";
import { useUrlState } from "../../lib/useUrlState";
import { RouteForm } from "./RouteForm";

type Route = Schemas["AlertRoute"];

/** From labels to who is told, in order, with a box to try them. */
export function RoutesCard({ channels }: { channels: readonly Schemas["Channel"][] }) {
  const client = useQueryClient();
  const editor = useRole()("editor");
  const routes = api.useQuery("get", "/api/v1/routes");
  const escalations = api.useQuery("get", "/api/v1/escalations");
  const order = api.useMutation("put", "/api/v1/routes/order");
  const remove = api.useMutation("delete", "/api/v1/routes/{id}");
  const [open, setOpen] = useUrlState("route");
  const [said, say] = useSaid();
  const items = routes.data?.items ?? [];
  const edited = items.find((one) => one.id === open);
  const refresh = () => client.invalidateQueries();
  const close = () => setOpen("");
  const names = new Map([...channels, ...(escalations.data?.items ?? [])].map((one) => [one.id, one.name]));
  const move = (at: number, by: -1 | 1) => {
    const ids = items.map((one) => one.id);
    const [id] = ids.splice(at, 1);
    if (!id) return;
    ids.splice(at + by, 0, id);
    order.mutate(
      { body: { ids } },
      {
        onError: tellProblem,
        onSuccess: () => say(`${items[at]?.name ?? ""} is number ${at + by + 1} of ${ids.length}.`),
        onSettled: () => keepFocus(() => void refresh()),
      },
    );
  };
  return (
    <Card
      title="Routes"
      actions={
        editor && (
          <Button compact onClick={() => setOpen("new", true)}>
            Add a route
          </Button>
        )
      }
      footer={
        items.length > 0 &&
        "The first that fits counts. A monitor that names channels or an escalation is above all routes."
      }
    >
      {said}
      {routes.isPending && <Loading rows={2} />}
      {routes.isError && <Failed error={routes.error} retry={() => void routes.refetch()} />}
      {routes.data && items.length === 0 && (
        <Empty>None: every default channel hears every monitor. A route sends what has certain labels elsewhere.</Empty>
      )}
      {items.length > 0 && (
        <table className="grid folds">
          <caption className="hidden-visually">Routes, in their order</caption>
          <thead>
            <tr>
              <th scope="col">Route</th>
              <th scope="col">What has</th>
              <th scope="col">Goes to</th>
              <th scope="col">
                <span className="hidden-visually">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {items.map((route, i) => (
              <tr key={route.id}>
                <th scope="row">{route.name}</th>
                <td className="break">{labelWords(route)}</td>
                <td className="second break">{goesTo(route, names)}</td>
                <td className="num end">
                  {editor && (
                    <span className="actions">
                      <OrderButtons
                        name={route.name}
                        first={i === 0}
                        last={i === items.length - 1}
                        move={(by) => move(i, by)}
                        remove={() =>
                          remove.mutate(
                            { params: { path: { id: route.id } } },
                            { onError: tellProblem, onSettled: () => void refresh() },
                          )
                        }
                      />
                      <Button compact aria-label={`Edit ${route.name}`} onClick={() => setOpen(route.id, true)}>
                        Edit
                      </Button>
                    </span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <TryRoutes />
      <Modal
        opened={editor && (open === "new" || edited !== undefined)}
        onClose={close}
        title={edited ? `Change ${edited.name}` : "Add a route"}
        size={520}
      >
        <RouteForm
          channels={channels}
          escalations={escalations.data?.items ?? []}
          route={edited}
          done={() => {
            close();
            void refresh();
          }}
        />
      </Modal>
    </Card>
  );
}

function labelWords(route: Route): string {
  const labels = Object.entries(route.labels ?? {}).map(([name, value]) => `${name}=${value}`);
  return labels.length > 0 ? labels.join(", ") : "anything";
}

function goesTo(route: Route, names: ReadonlyMap<string, string>): string {
  const ids = [...(route.escalation ? [route.escalation] : []), ...(route.channels ?? [])];
  return ids.length > 0 ? list(ids.map((id) => names.get(id) ?? "what is deleted")) : "nobody";
}

/** Which route would it take? */
function TryRoutes() {
  const test = api.useMutation("post", "/api/v1/routes/test");
  const [monitor, setMonitor] = useState("");
  const [labels, setLabels] = useState("");
  const [wrong, setWrong] = useState<string | null>(null);
  return (
    <form
      className="form body"
      onSubmit={(event) => {
        event.preventDefault();
        const parsed = parseLabels(labels);
        setWrong(parsed === null ? "Write each label as name=value." : null);
        if (monitor !== "") test.mutate({ body: { monitor } });
        else if (parsed) test.mutate({ body: { labels: parsed } });
      }}
    >
      <div className="fields">
        <PickMonitor label="Try a monitor" clearable chosen={[]} value={monitor} onChange={setMonitor} />
        <Textarea
          label="or labels"
          placeholder="team=shop"
          autosize
          minRows={1}
          disabled={monitor !== ""}
          error={wrong}
          value={labels}
          onChange={(event) => setLabels(event.currentTarget.value)}
        />
      </div>
      <div className="row">
        <Button type="submit" busy={test.isPending}>
          Who is told?
        </Button>
        <span role="status">
          {test.data && (
            <>
              Told: <b>{test.data.sentence}</b>
            </>
          )}
        </span>
      </div>
      {test.isError && <Refusal>{problemOf(test.error).message}</Refusal>}
    </form>
  );
}
