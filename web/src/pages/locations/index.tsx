import { Modal } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ConfirmDelete } from "../../components/Confirm";
import { Page } from "../../components/Page";
import { Empty, Failed, Loading } from "../../components/Status";
import { plural } from "../../lib/format";
import { tell, tellProblem } from "../../lib/tell";
import { useNow } from "../../lib/ticker";
import { useUrlState } from "../../lib/useUrlState";
import { DoubtCard } from "./DoubtCard";
import { Enrol } from "./Enrol";
import { HistoryCard } from "./HistoryCard";
import { LocationForm } from "./LocationForm";
import { LocationTable } from "./LocationTable";
import { type Asked, TrustDialog } from "./Trust";
import { divergentNote, locationsSentence, overCap, reviewNote, simulatedNote } from "./words";

type Location = Schemas["Location"];

/** Locations: whom not to believe; adding one and watching its agent arrive. */
export function LocationsPage() {
  const client = useQueryClient();
  const role = useRole();
  const now = useNow();
  const locations = api.useQuery("get", "/api/v1/locations", undefined, { refetchInterval: 10_000 });
  const change = api.useMutation("patch", "/api/v1/locations/{id}");
  const remove = api.useMutation("delete", "/api/v1/locations/{id}");
  const [adding, setAdding] = useUrlState("add");
  const [enrolling, setEnrolling] = useUrlState("enrol");
  const [editing, setEditing] = useUrlState("edit");
  const untrust = api.useMutation("delete", "/api/v1/locations/{id}/trust");
  const [asked, setAsked] = useState<Asked | null>(null);
  const [deleting, setDeleting] = useState<Location | null>(null);
  const items = locations.data?.items ?? [];
  const find = (id: string) => items.find((l) => l.id === id);
  const refresh = () => client.invalidateQueries({ queryKey: api.queryOptions("get", "/api/v1/locations").queryKey });
  const toEdit = find(editing);
  const toEnrol = find(enrolling);
  const note = simulatedNote(items);
  const over = overCap(items);
  const notes = [reviewNote(items), divergentNote(items, now)].filter((one) => one !== null).join(" ");
  const take = (location: Location) =>
    untrust.mutate(
      { params: { path: { id: location.id } } },
      {
        onSuccess: () => tell(`What is found decides about ${location.name} again.`),
        onError: tellProblem,
        onSettled: () => void refresh(),
      },
    );
  const said = items.filter((l) => l.enabled && (l.doubt != null || l.trust != null));
  return (
    <Page crumbs={[{ word: "Locations" }]}>
      <div className="headline">
        <div>
          <h1>{locations.data ? locationsSentence(items, now) : "Locations"}</h1>
          {note && <p className="lead">{note}</p>}
        </div>
        {role("admin") && (
          <div className="actions">
            <Button primary onClick={() => setAdding("1", true)}>
              Add a location
            </Button>
          </div>
        )}
      </div>
      {over && (
        <Card title="Nobody is quarantined" edge="partial">
          <p className="body">{over}</p>
        </Card>
      )}
      {said.map((location) => (
        <DoubtCard
          key={location.id}
          location={location}
          now={now}
          act={
            role("editor")
              ? { believe: () => setAsked({ location, kind: "believe" }), take: () => take(location) }
              : null
          }
        />
      ))}
      <Card title="Locations" footer={notes} beside={locations.data && plural(items.length, "location")}>
        {locations.isPending && <Loading rows={3} />}
        {locations.isError && <Failed error={locations.error} retry={() => void locations.refetch()} />}
        {locations.data && items.length === 0 && (
          <Empty>
            No location yet.{" "}
            {role("admin")
              ? "Add one, and run its command on a machine; it appears here."
              : "An administrator can add one here."}
          </Empty>
        )}
        {items.length > 0 && (
          <LocationTable
            locations={items}
            now={now}
            trust={role("editor") ? { say: (location, kind) => setAsked({ location, kind }), take } : null}
            actions={
              role("admin")
                ? {
                    enrol: (l) => setEnrolling(l.id, true),
                    edit: (l) => setEditing(l.id, true),
                    remove: setDeleting,
                    toggle: (l) =>
                      change.mutate(
                        { params: { path: { id: l.id } }, body: { enabled: !l.enabled } },
                        {
                          onSuccess: () =>
                            tell(
                              l.enabled
                                ? `${l.name} stops probing and its votes do not count.`
                                : `${l.name} probes again.`,
                            ),
                          onError: tellProblem,
                          onSettled: () => void refresh(),
                        },
                      ),
                  }
                : null
            }
          />
        )}
      </Card>
      {items.length > 0 && <HistoryCard locations={items} now={now} />}
      <TrustDialog asked={asked} close={() => setAsked(null)} done={() => void refresh()} />
      <Modal opened={adding !== "" && role("admin")} onClose={() => setAdding("")} title="Add a location">
        <LocationForm
          done={(saved) => {
            void refresh().then(() => {
              setAdding("");
              setEnrolling(saved.id);
            });
          }}
        />
      </Modal>
      <Modal
        opened={toEdit !== undefined && role("admin")}
        onClose={() => setEditing("")}
        title={`Change ${toEdit?.name ?? ""}`}
      >
        {toEdit && (
          <LocationForm
            location={toEdit}
            done={() => {
              setEditing("");
              void refresh();
            }}
          />
        )}
      </Modal>
      <Modal
        opened={toEnrol !== undefined && role("admin")}
        onClose={() => setEnrolling("")}
        title={`Enrol an agent for ${toEnrol?.name ?? ""}`}
        size={640}
      >
        {toEnrol && <Enrol key={toEnrol.id} location={toEnrol} />}
      </Modal>
      <ConfirmDelete
        opened={deleting !== null}
        close={() => setDeleting(null)}
        title="Delete a location"
        name={deleting?.name ?? ""}
        act={async () => {
          if (deleting) await remove.mutateAsync({ params: { path: { id: deleting.id } } });
          await refresh();
        }}
      >
        Its agents are revoked at once and its votes end.{" "}
        {deleting &&
          deleting.monitors > 0 &&
          `${plural(deleting.monitors, "monitor")} will be seen from one place fewer.`}
      </ConfirmDelete>
    </Page>
  );
}
