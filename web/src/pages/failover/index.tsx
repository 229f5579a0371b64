import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { ButtonLink } from "../../components/Button";
import { Card } from "../../components/Card";
import { Page } from "../../components/Page";
import { ScrollX } from "../../components/ScrollX";
import { StateMark, StateWord } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { plural } from "../../lib/format";
import { useRows } from "../../lib/useRows";
import { failoverSentence, fewestWords, groupSaid, memberSaid, modeWords } from "./words";

type Group = Schemas["FailoverGroup"];

/** Failover groups: whom DNS servers and balancers are told to serve. */
export function FailoverPage() {
  const role = useRole();
  const groups = api.useQuery("get", "/api/v1/failover");
  const items = groups.data?.items ?? [];
  const here = useRows(
    items.map((group) => group.id),
    (id) => `/failover-groups/${id}`,
  );
  return (
    <Page crumbs={[{ word: "Failover" }]}>
      <div className="headline">
        <div>
          <h1>{groups.data ? failoverSentence(items) : "Failover"}</h1>
          <p className="lead">
            A group tells a DNS server or a balancer which of its members to serve. A member goes out only while enough
            locations agree that it is down; what is not known takes nobody out.
          </p>
        </div>
        {role("editor") && (
          <div className="actions">
            <ButtonLink primary to="/failover-groups/new">
              Add a group
            </ButtonLink>
          </div>
        )}
      </div>
      <Card title="Groups" beside={items.length > 0 && plural(items.length, "group")}>
        {groups.isPending && <Loading rows={2} height={56} />}
        {groups.isError && <Failed error={groups.error} retry={() => void groups.refetch()} />}
        {groups.data && items.length === 0 && (
          <Empty>
            Nobody asks Quorate whom to serve yet.{" "}
            {role("editor") ? (
              <>
                <Link to="/failover-groups/new">Add a group</Link>: its members, each with its address and the monitor
                that says how it is. Then give its key to your DNS server.
              </>
            ) : (
              "An editor can add a group."
            )}
          </Empty>
        )}
        {items.length > 0 && <GroupTable groups={items} here={here} />}
      </Card>
    </Page>
  );
}

function GroupTable({ groups, here }: { groups: readonly Group[]; here: string | null }) {
  return (
    <ScrollX label="Failover groups">
      <table className="grid folds failover">
        <caption className="hidden-visually">Failover groups, by name</caption>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Group</th>
            <th scope="col">Members</th>
            <th scope="col">Served</th>
            <th scope="col">Serves all below</th>
            <th scope="col">In words</th>
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => (
            <Row key={group.id} group={group} here={here === group.id} />
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

const SHOWN = 6;

function Row({ group, here }: { group: Group; here: boolean }) {
  const said = groupSaid(group.now);
  const calm = said.mark === "up";
  // Those that are out stand first when not all fit.
  const members = [...group.now.members].sort((a, b) => Number(a.serve) - Number(b.serve));
  const shown = members.length > SHOWN ? members.slice(0, SHOWN) : group.now.members;
  return (
    <tr data-row={group.id} className={`${calm ? "" : `edged edge-${said.mark}`}${here ? " here" : ""}`}>
      <td>
        <StateWord state={said.mark} word={said.word} />
      </td>
      <th scope="row" className="break">
        <Link to={`/failover-groups/${group.id}`}>{group.name}</Link>
      </th>
      <td className="second">
        <span className="row">
          {shown.map((member) => (
            <span key={member.name} className="state">
              <StateMark state={memberSaid(member).mark} label={memberSaid(member).word} /> {member.name}
              {member.override && <span className="muted"> by hand</span>}
            </span>
          ))}
          {shown.length < members.length && (
            <span className="muted">and {plural(members.length - shown.length, "more", "more")}</span>
          )}
        </span>
      </td>
      <td className="off soft">{modeWords(group.mode)}</td>
      <td className="off soft nowrap">{fewestWords(group)}</td>
      <td className="second soft">{group.now.sentence}</td>
    </tr>
  );
}
