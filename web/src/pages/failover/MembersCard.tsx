import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { StateWord } from "../../components/StateMark";
import { list, plural } from "../../lib/format";
import { tell, tellProblem } from "../../lib/tell";
import { useNow } from "../../lib/ticker";
import { ago, dayMinute, utc, when } from "../../lib/time";
import { OverrideDialog, useSetGroup } from "./Override";
import { memberSaid, why } from "./words";

type Group = Schemas["FailoverGroup"];
type Member = Schemas["FailoverMemberNow"];

/** Members in order: in or out, why, and somebody's word over what monitors say. */
export function MembersCard({ group, editor }: { group: Group; editor: boolean }) {
  const [asked, setAsked] = useState<{ member: string; serve: boolean } | null>(null);
  const names = useNames(group);
  const weighted = group.mode === "weighted";
  return (
    <Card
      title="Members"
      beside={weighted ? "all that are in are used, by weight" : "the first that is in is used, the next ones stand by"}
      footer={
        group.now.fail_open
          ? `Fewer than ${group.now.min_members} would be left, so all are in but those that somebody took out: a group without members is worse than one with sick ones.`
          : `All would be in if fewer than ${group.now.min_members} were left. What is unknown, paused or not sure takes nobody out.`
      }
    >
      <ScrollX label="Members">
        <table className="grid folds members">
          <caption className="hidden-visually">Members, in order of preference</caption>
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col">Member</th>
              <th scope="col">Address</th>
              {weighted && (
                <th scope="col" className="num">
                  Weight
                </th>
              )}
              <th scope="col">Goes by</th>
              <th scope="col">Why</th>
              {editor && (
                <th scope="col">
                  <span className="hidden-visually">Actions</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {group.now.members.map((member, i) => (
              <Row
                key={member.name}
                member={member}
                rule={group.members[i]}
                failOpen={group.now.fail_open}
                weighted={weighted}
                names={names}
                actions={
                  editor && (
                    <Actions group={group} member={member} ask={(serve) => setAsked({ member: member.name, serve })} />
                  )
                }
              />
            ))}
          </tbody>
        </table>
      </ScrollX>
      <OverrideDialog group={group} asked={asked} close={() => setAsked(null)} />
    </Card>
  );
}

/** Names of the group's monitors and locations by their ids, as far as they are known. */
function useNames(group: Group): ReadonlyMap<string, string> {
  // One that was deleted has no name to ask for.
  const there = group.members.filter((_, i) => group.now.members[i]?.reason !== "no_monitor");
  const ids = [...new Set(there.map((member) => member.monitor))];
  const monitors = useQueries({
    queries: ids.map((id) => ({
      ...api.queryOptions("get", "/api/v1/monitors/{id}", { params: { path: { id } } }),
      staleTime: 60_000,
    })),
  });
  const locations = api.useQuery("get", "/api/v1/locations", undefined, { staleTime: 60_000 });
  const known = [...monitors.map((one) => one.data), ...(locations.data?.items ?? [])];
  return new Map(known.flatMap((one) => (one ? [[one.id, one.name] as const] : [])));
}

function Row(props: {
  member: Member;
  rule: Schemas["FailoverMember"] | undefined;
  failOpen: boolean;
  weighted: boolean;
  names: ReadonlyMap<string, string>;
  actions: React.ReactNode;
}) {
  const { member, rule, names } = props;
  const now = useNow();
  const said = memberSaid(member);
  return (
    <tr className={member.serve ? undefined : "edged edge-down"}>
      <td>
        <StateWord state={said.mark} word={said.word} />
      </td>
      <th scope="row" className="break">
        {member.name} <code className="phone-only small-weight small muted">{member.address}</code>
      </th>
      <td className="off">
        <code className="break">{member.address}</code>
      </td>
      {props.weighted && <td className="num off">{member.weight}</td>}
      <td className="second half">
        {rule && <GoesBy rule={rule} names={names} gone={member.reason === "no_monitor"} />}
      </td>
      <td className="second">
        {!member.override && why(member, props.failOpen)}
        {member.out_since && (
          <span className="muted" title={utc(member.out_since)}>
            {" "}
            Since {when(member.out_since, now)}.
          </span>
        )}
        {member.returns_at && (
          <span title={utc(member.returns_at)}> Back at {when(member.returns_at, now)} if it stays well.</span>
        )}
        {member.override && <ByHand said={member.override} now={now} />}
      </td>
      {props.actions && <td className="num end">{props.actions}</td>}
    </tr>
  );
}

function ByHand({ said, now }: { said: Schemas["FailoverOverride"]; now: number }) {
  return (
    <span>
      <span className="tag">by hand</span> {said.serve ? "Served" : "Taken out"} by {said.set_by}{" "}
      <span title={utc(said.set_at)}>{ago(said.set_at, now)}</span>, until{" "}
      <span title={utc(said.until)}>{dayMinute(said.until, now)}</span>: <q className="break">{said.reason}</q>
    </span>
  );
}

/** Whose word counts: the monitor by its own rule, or what some locations see of it. */
function GoesBy(props: { rule: Schemas["FailoverMember"]; names: ReadonlyMap<string, string>; gone: boolean }) {
  const { rule, names } = props;
  const locations = (rule.locations ?? []).map((id) => names.get(id)).filter((name) => name !== undefined);
  return (
    <>
      {props.gone ? (
        <span className="muted">a deleted monitor</span>
      ) : (
        <Link to={`/monitors/${rule.monitor}`}>{names.get(rule.monitor) ?? "its monitor"}</Link>
      )}
      {rule.locations && (
        <span className="muted small-weight">
          {" "}
          as seen from {locations.length > 0 ? list(locations) : plural(rule.locations.length, "location")}
        </span>
      )}
      {rule.partial_at != null && (
        <span className="muted">, or {rule.partial_at}&nbsp;% of its locations see it down</span>
      )}
    </>
  );
}

function Actions({ group, member, ask }: { group: Group; member: Member; ask: (serve: boolean) => void }) {
  const release = api.useMutation("delete", "/api/v1/failover/{id}/members/{member}/override");
  const set = useSetGroup();
  if (member.override)
    return (
      <Button
        compact
        busy={release.isPending}
        onClick={() =>
          release.mutate(
            { params: { path: { id: group.id, member: member.name } } },
            {
              onSuccess: (saved) => {
                set(saved);
                tell(`${member.name}: its monitor decides again.`);
              },
              onError: tellProblem,
            },
          )
        }
      >
        Let its monitor decide
      </Button>
    );
  return (
    <span className="actions">
      {member.serve ? (
        <Button compact onClick={() => ask(false)} aria-label={`Take ${member.name} out`}>
          Take out…
        </Button>
      ) : (
        <Button compact onClick={() => ask(true)} aria-label={`Serve ${member.name}`}>
          Serve…
        </Button>
      )}
      {member.serve && (
        <Button compact onClick={() => ask(true)} aria-label={`Keep ${member.name} in`}>
          Keep in…
        </Button>
      )}
    </span>
  );
}
