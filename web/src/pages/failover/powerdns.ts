/** A record for PowerDNS that answers with whom a group serves. */

import type { Schemas } from "../../api/client";

type Group = Pick<Schemas["FailoverGroup"], "name" | "mode" | "members" | "feed_url">;

/** Where a member's answer is read: 200 while it is to be served, 503 while it is out. */
export const memberUrl = (feed: string, member: string) => `${feed}/members/${member}`;

const isV4 = (address: string) => /^\d{1,3}(\.\d{1,3}){3}$/.test(address);
const isV6 = (address: string) => /^[0-9a-f:]+(%\w+)?$/i.test(address) && address.includes(":");

/** One record for each kind of address; what is no address cannot stand in one. */
export function records(group: Group, key: string): { zone: string; left: string[] } {
  const kinds = [
    ["A", group.members.filter((member) => isV4(member.address))],
    ["AAAA", group.members.filter((member) => isV6(member.address))],
  ] as const;
  const left = group.members.filter((member) => !isV4(member.address) && !isV6(member.address));
  const texts = kinds
    .filter(([, members]) => members.length > 0)
    .map(([type, members]) => record(group, type, members, key));
  return { zone: texts.join("\n"), left: left.map((member) => member.name) };
}

function record(group: Group, type: string, members: Group["members"], key: string): string {
  const entries = members.map(
    (member) => `['${member.address}']='${memberUrl(group.feed_url, member.name)}?token=${key}'`,
  );
  // A table after the first is used while nobody in the ones before is served.
  const tables =
    group.mode === "weighted"
      ? entries.map((entry, i) => `${i === 0 ? "{" : ""}${entry}${i === entries.length - 1 ? "}" : ","}`)
      : entries.map((entry, i) => `{${entry}}${i === entries.length - 1 ? "" : ","}`);
  const options = `interval=5, timeout=2, ${group.mode === "weighted" ? "selector='all', " : ""}backupSelector='all'`;
  const lines = tables.map(
    (table, i) => `${i === 0 ? "ifurlextup({" : ""}${table}${i === tables.length - 1 ? "}," : ""}`,
  );
  const quoted = [...lines, `{${options}})`].map((line) => `"${line}"`);
  return `${group.name} 10 IN LUA ${type} ( ${quoted.join("\n    ")} )`;
}
