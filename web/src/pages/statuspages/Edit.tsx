import { useState } from "react";
import { useParams } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Page } from "../../components/Page";
import { Empty, Failed, Loading } from "../../components/Status";
import { ownZone } from "../../lib/zones";
import { draftOf, emptyDraft } from "./draft";
import { Editor } from "./Editor";

export function NewStatusPage() {
  const role = useRole();
  const [initial] = useState(() => emptyDraft(ownZone()));
  return (
    <Page crumbs={[{ word: "Status pages", to: "/status-pages" }, { word: "Add" }]}>
      <h1>Add a status page</h1>
      {role("editor") ? <Editor initial={initial} /> : <NotAllowed />}
    </Page>
  );
}

export function EditStatusPage() {
  const { id = "" } = useParams();
  const page = api.useQuery("get", "/api/v1/status-pages/{id}", { params: { path: { id } } });
  if (page.data) return <Known key={page.data.id} read={page.data} />;
  return (
    <Page crumbs={[{ word: "Status pages", to: "/status-pages" }, { word: "Edit" }]}>
      <h1>Edit a status page</h1>
      {page.isPending && <Loading rows={6} />}
      {page.isError && <Failed error={page.error} retry={() => void page.refetch()} />}
    </Page>
  );
}

function Known({ read }: { read: Schemas["StatusPage"] }) {
  const role = useRole();
  // The form works on what it was opened with: a change by others is refused when saved, and not mixed in.
  const [page] = useState(read);
  const [initial] = useState(() => draftOf(read));
  const crumbs = [
    { word: "Status pages", to: "/status-pages" },
    { word: page.name, to: `/status-pages/${page.id}` },
    { word: "Edit" },
  ];
  return (
    <Page crumbs={crumbs}>
      <h1>Edit {page.name}</h1>
      {role("editor") ? <Editor initial={initial} page={page} /> : <NotAllowed />}
    </Page>
  );
}

function NotAllowed() {
  return <Empty>Your role shows status pages; an editor can change them.</Empty>;
}
