import { useState } from "react";
import { useParams, useSearchParams } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Page } from "../../components/Page";
import { Empty, Failed, Loading } from "../../components/Status";
import { ownZone } from "../../lib/zones";
import { draftOf, emptyDraft } from "./draft";
import { Editor } from "./Editor";

/** Adds an SLO; `?monitor=` names the one that it is about. */
export function NewSloPage() {
  const role = useRole();
  const [params] = useSearchParams();
  const [initial] = useState(() => emptyDraft(params.get("monitor") ?? "", ownZone()));
  return (
    <Page crumbs={[{ word: "SLOs", to: "/slos" }, { word: "Add" }]}>
      <h1>Add an SLO</h1>
      {role("editor") ? <Editor initial={initial} /> : <NotAllowed />}
    </Page>
  );
}

/** Changes one. */
export function EditSloPage() {
  const { id = "" } = useParams();
  const slo = api.useQuery("get", "/api/v1/slos/{id}", { params: { path: { id } } });
  if (slo.data) return <Known key={slo.data.id} read={slo.data} />;
  return (
    <Page crumbs={[{ word: "SLOs", to: "/slos" }, { word: "Edit" }]}>
      <h1>Edit an SLO</h1>
      {slo.isPending && <Loading rows={6} />}
      {slo.isError && <Failed error={slo.error} retry={() => void slo.refetch()} />}
    </Page>
  );
}

function Known({ read }: { read: Schemas["Slo"] }) {
  const role = useRole();
  // The form works on what it was opened with: a change by others is refused when saved, and not mixed in.
  const [slo] = useState(read);
  return (
    <Page crumbs={[{ word: "SLOs", to: "/slos" }, { word: slo.name, to: `/slos/${slo.id}` }, { word: "Edit" }]}>
      <h1>Edit {slo.name}</h1>
      {role("editor") ? <Editor initial={draftOf(slo)} slo={slo} /> : <NotAllowed />}
    </Page>
  );
}

function NotAllowed() {
  return <Empty>Your role shows SLOs; an editor can change them.</Empty>;
}
