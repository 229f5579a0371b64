/** What the form of a failover group holds, and how it becomes what the API takes. */

import type { Schemas } from "../../api/client";

/** Number fields are empty text when nothing is set. */
export interface MemberDraft {
  /** Stays with the row while rows are moved. */
  key: string;
  name: string;
  address: string;
  monitor: string;
  locations: string[];
  weight: number | "";
  /** In percent. */
  partial_at: number | "";
}

export interface Draft {
  name: string;
  mode: string;
  members: MemberDraft[];
  min_members: number | "";
  return_after_s: number | "";
  channels: string[];
}

let made = 0;

export function emptyMember(): MemberDraft {
  made += 1;
  return { key: `m${made}`, name: "", address: "", monitor: "", locations: [], weight: 1, partial_at: "" };
}

export function emptyDraft(): Draft {
  return {
    name: "",
    mode: "ordered",
    members: [emptyMember(), emptyMember()],
    min_members: "",
    return_after_s: 60,
    channels: [],
  };
}

export function draftOf(group: Schemas["FailoverGroup"]): Draft {
  return {
    name: group.name,
    mode: group.mode ?? "ordered",
    members: group.members.map((member) => ({
      ...emptyMember(),
      name: member.name,
      address: member.address,
      monitor: member.monitor,
      locations: member.locations ?? [],
      weight: member.weight ?? 1,
      partial_at: member.partial_at ?? "",
    })),
    min_members: group.min_members ?? "",
    return_after_s: group.return_after_s ?? "",
    channels: group.channels,
  };
}

const number = (value: number | "") => (value === "" ? null : value);

export function bodyOf(d: Draft): Schemas["NewFailoverGroup"] {
  return {
    name: d.name.trim(),
    mode: d.mode === "weighted" ? "weighted" : "ordered",
    members: d.members.map((member) => ({
      name: member.name.trim(),
      address: member.address.trim(),
      monitor: member.monitor,
      locations: member.locations.length > 0 ? member.locations : null,
      weight: number(member.weight) ?? 1,
      partial_at: number(member.partial_at),
    })),
    min_members: number(d.min_members),
    return_after_s: number(d.return_after_s),
    channels: d.channels,
  };
}

/** The form's field for the API's; null when the form has none. */
export function fieldOf(field: string): string | null {
  const member = /^members\[(\d+)\]\.(\w+)/.exec(field);
  if (member) return `members.${member[1]}.${member[2]}`;
  if (field.startsWith("channels")) return "channels";
  return ["name", "mode", "min_members", "return_after_s"].includes(field) ? field : null;
}

/** What the fields are called where drafts are compared. */
export const labels: { readonly [K in keyof Draft]?: string } = {
  name: "Name",
  mode: "Served",
  members: "Members",
  min_members: "Fewest left",
  return_after_s: "Back after, s",
  channels: "Told of changes",
};
