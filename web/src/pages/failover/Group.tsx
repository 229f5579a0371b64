import { Modal } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { api, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { useRole } from "../../api/session";
import { Button, ButtonLink } from "../../components/Button";
import { ConfirmDelete } from "../../components/Confirm";
import { Copy } from "../../components/Copy";
import { Page } from "../../components/Page";
import { StateWord } from "../../components/StateMark";
import { Failed, Loading } from "../../components/Status";
import { tell } from "../../lib/tell";
import { AddressesCard } from "./AddressesCard";
import { ChangesCard } from "./ChangesCard";
import { MembersCard } from "./MembersCard";
import { RulesCard } from "./RulesCard";
import { groupSaid } from "./words";

type Group = Schemas["FailoverGroup"];

/** One group: whom to serve now, and why. */
export function FailoverGroupPage() {
  const { id = "" } = useParams();
  const group = api.useQuery("get", "/api/v1/failover/{id}", { params: { path: { id } } }, { refetchInterval: 10_000 });
  const gone = group.isError && problemOf(group.error).status === 404;
  if (group.data && !gone) return <Known group={group.data} />;
  return (
    <Page crumbs={[{ word: "Failover", to: "/failover-groups" }, { word: "Group" }]}>
      <h1>{gone ? "There is no such group." : "Failover group"}</h1>
      {group.isPending && <Loading rows={6} />}
      {group.isError && !gone && <Failed error={group.error} retry={() => void group.refetch()} />}
      {gone && (
        <p className="pad-phone">
          It may have been deleted; its feed then answers nobody. <Link to="/failover-groups">All groups</Link>
        </p>
      )}
    </Page>
  );
}

function Known({ group }: { group: Group }) {
  const role = useRole();
  const said = groupSaid(group.now);
  return (
    <Page crumbs={[{ word: "Failover", to: "/failover-groups" }, { word: group.name }]}>
      <div className="headline">
        <div>
          <div className="row state-line">
            <StateWord state={said.mark} word={said.word} large />
            <span className="soft">{group.name}</span>
          </div>
          <h1>{group.now.sentence}</h1>
        </div>
        {role("editor") && <Actions group={group} />}
      </div>
      <MembersCard group={group} editor={role("editor")} />
      <div className="two lean-left">
        <AddressesCard group={group} />
        <RulesCard group={group} />
      </div>
      <ChangesCard group={group} />
    </Page>
  );
}

function Actions({ group }: { group: Group }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = api.useMutation("delete", "/api/v1/failover/{id}");
  const replace = api.useMutation("post", "/api/v1/failover/{id}/key");
  const [deleting, setDeleting] = useState(false);
  const [replacing, setReplacing] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const of = { path: { id: group.id } };
  return (
    <div className="actions">
      <ButtonLink to={`/failover-groups/${group.id}/edit`}>Edit</ButtonLink>
      <Button onClick={() => setReplacing(true)}>New key…</Button>
      <Button onClick={() => setDeleting(true)}>Delete…</Button>
      <ConfirmDelete
        opened={replacing}
        close={() => setReplacing(false)}
        title="Another key for the feed"
        verb="Replace the key of"
        name={group.name}
        act={async () => setSecret((await replace.mutateAsync({ params: of })).secret)}
      >
        The key of now opens nothing any more, at once. Whoever reads the feed is refused until it has the new one; a
        DNS server then answers by its own fallback.
      </ConfirmDelete>
      <KeyShown name={group.name} secret={secret} close={() => setSecret(null)} />
      <ConfirmDelete
        opened={deleting}
        close={() => setDeleting(false)}
        title="Delete a failover group"
        name={group.name}
        act={async () => {
          await remove.mutateAsync({ params: { ...of, header: { "if-match": `"${group.revision}"` } } });
          tell(`${group.name} is deleted.`);
          navigate("/failover-groups");
          void client.invalidateQueries({ queryKey: ["get", "/api/v1/failover"] });
        }}
      >
        Its feed answers nobody from now on: take it out of your DNS server first. Its monitors stay.
      </ConfirmDelete>
    </div>
  );
}

/** A key of a feed, shown this once. */
export function KeyShown(props: { name: string; secret: string | null; close: () => void }) {
  return (
    <Modal opened={props.secret !== null} onClose={props.close} title={`Key of ${props.name}`} size={560}>
      <div className="stack">
        <p>
          It is shown this once, and kept as a hash only. It reads this group's feed and nothing else. If it is lost,
          make another one.
        </p>
        {props.secret !== null && <Copy text={props.secret} of="the key" />}
        <p className="soft">
          It goes along as <code>Authorization: Bearer …</code> or, where only an address can be written, as{" "}
          <code>?token=…</code>
        </p>
        <div className="actions">
          <Button primary onClick={props.close}>
            I have it
          </Button>
        </div>
      </div>
    </Modal>
  );
}
