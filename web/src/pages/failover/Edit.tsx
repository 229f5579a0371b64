import { useState } from "react";
import { useParams } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Page } from "../../components/Page";
import { Empty, Failed, Loading } from "../../components/Status";
import { draftOf, emptyDraft } from "./draft";
import { Form } from "./Form";

export function NewFailoverPage() {
  const role = useRole();
  const [initial] = useState(emptyDraft);
  return (
    <Page crumbs={[{ word: "Failover", to: "/failover-groups" }, { word: "Add" }]}>
      <h1>Add a failover group</h1>
      {role("editor") ? <Form initial={initial} /> : <NotAllowed />}
    </Page>
  );
}

export function EditFailoverPage() {
  const { id = "" } = useParams();
  const group = api.useQuery("get", "/api/v1/failover/{id}", { params: { path: { id } } });
  if (group.data) return <Known key={group.data.id} read={group.data} />;
  return (
    <Page crumbs={[{ word: "Failover", to: "/failover-groups" }, { word: "Edit" }]}>
      <h1>Edit a failover group</h1>
      {group.isPending && <Loading rows={6} />}
      {group.isError && <Failed error={group.error} retry={() => void group.refetch()} />}
    </Page>
  );
}

function Known({ read }: { read: Schemas["FailoverGroup"] }) {
  const role = useRole();
  // The form works on what it was opened with: a change by others is refused when saved, and not mixed in.
  const [group] = useState(read);
  const [initial] = useState(() => draftOf(read));
  return (
    <Page
      crumbs={[
        { word: "Failover", to: "/failover-groups" },
        { word: group.name, to: `/failover-groups/${group.id}` },
        { word: "Edit" },
      ]}
    >
      <h1>Edit {group.name}</h1>
      {role("editor") ? <Form initial={initial} group={group} /> : <NotAllowed />}
    </Page>
  );
}

function NotAllowed() {
  return <Empty>Your role shows failover groups; an editor can change them.</Empty>;
}
