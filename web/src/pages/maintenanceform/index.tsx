import { useState } from "react";
import { useParams, useSearchParams } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Page } from "../../components/Page";
import { Empty, Failed, Loading } from "../../components/Status";
import { ownZone } from "../../lib/zones";
import { draftOf, emptyDraft } from "./draft";
import { Editor } from "./Editor";

/** Plans maintenance; with `?kind=correction` enters what is over, `?monitor=` names whom it is about. */
export function NewMaintenancePage() {
  const role = useRole();
  const [params] = useSearchParams();
  const correction = params.get("kind") === "correction";
  const [initial] = useState(() => {
    const monitor = params.get("monitor");
    const fresh = emptyDraft(ownZone(), Date.now() / 1000, correction);
    return monitor ? { ...fresh, monitors: [monitor] } : fresh;
  });
  const words = correction ? "Enter a correction" : "Plan maintenance";
  return (
    <Page crumbs={[{ word: "Maintenance", to: "/maintenance" }, { word: correction ? "Correction" : "Plan" }]}>
      <h1>{words}</h1>
      {correction && (
        <p className="lead">
          A correction is about what is over. It leaves its span out of reports from now on, stands apart in each of
          them with its reason, and changes nothing that was sent.
        </p>
      )}
      {role("editor") ? <Editor key={String(correction)} initial={initial} /> : <NotAllowed />}
    </Page>
  );
}

/** Changes what has not begun. */
export function EditMaintenancePage() {
  const { id = "" } = useParams();
  const one = api.useQuery("get", "/api/v1/maintenance/{id}", { params: { path: { id } } });
  if (one.data) return <Known key={one.data.id} read={one.data} />;
  return (
    <Page crumbs={[{ word: "Maintenance", to: "/maintenance" }, { word: "Edit" }]}>
      <h1>Edit maintenance</h1>
      {one.isPending && <Loading rows={6} />}
      {one.isError && <Failed error={one.error} retry={() => void one.refetch()} />}
    </Page>
  );
}

function Known({ read }: { read: Schemas["Maintenance"] }) {
  const role = useRole();
  // The form works on what it was opened with: a change by others is refused when saved, and not mixed in.
  const [one] = useState(read);
  const [initial] = useState(() => draftOf(one, ownZone(), Date.now() / 1000));
  const fixed = !one.cron && one.phase !== "planned";
  return (
    <Page crumbs={[{ word: "Maintenance", to: "/maintenance" }, { word: one.name }, { word: "Edit" }]}>
      <h1>Edit {one.name}</h1>
      {one.cron && <p className="lead">What has begun stays as it was; this is about what comes after.</p>}
      {!role("editor") && <NotAllowed />}
      {role("editor") && fixed && (
        <Empty>It has begun, and what it covers stays covered. It can be ended on the page of maintenance.</Empty>
      )}
      {role("editor") && !fixed && <Editor initial={initial} maintenance={one} />}
    </Page>
  );
}

function NotAllowed() {
  return <Empty>Your role shows maintenance; an editor can plan it.</Empty>;
}
