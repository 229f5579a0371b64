/** Who is served and why, in words. */

import type { Schemas } from "../../api/client";
import { list, plural, span } from "../../lib/format";

type Group = Schemas["FailoverGroup"];
type Member = Schemas["FailoverMemberNow"];

/** A mark of the visual language and its word. */
export interface Said {
  mark: string;
  word: string;
}

/** How a group stands: all are in, some are out, or too few would be left. */
export function groupSaid(now: Schemas["FailoverNow"]): Said {
  const out = now.members.filter((member) => !member.serve).length;
  if (now.fail_open) return { mark: "down", word: out === 0 ? "Fails open: all in" : "Fails open" };
  if (out > 0) return { mark: "partial", word: `${out} of ${now.members.length} out` };
  return { mark: "up", word: "All in" };
}

const inMarks: Partial<Record<Schemas["FailoverReason"], string>> = {
  degraded: "slow",
  partial: "partial",
  down: "partial",
  returning: "partial",
  low_confidence: "unknown",
  unknown: "unknown",
  no_monitor: "unknown",
  paused: "paused",
};

/** In or out; the mark of one that is in tells how sure that is. */
export function memberSaid(member: Member): Said {
  if (member.serve) return { mark: inMarks[member.reason] ?? "up", word: "In" };
  return { mark: member.reason === "returning" ? "recovering" : "down", word: "Out" };
}

const reasons: Record<Schemas["FailoverReason"], string> = {
  up: "Its monitor is up.",
  degraded: "Its monitor is slow, which takes nobody out.",
  partial: "Some locations see it down, too few to take it out.",
  down: "Its monitor is down.",
  low_confidence: "Seen down, but too few locations count to take it out.",
  unknown: "Nobody knows how it is, which takes nobody out.",
  paused: "Its monitor is paused, which takes nobody out.",
  no_monitor: "Its monitor was deleted, which takes nobody out.",
  returning: "Well again, but not for long enough.",
  override: "Somebody said so.",
};

/** Why a member is in or out. */
export function why(member: Member, failOpen: boolean): string {
  const said = reasons[member.reason];
  const open = member.serve && failOpen && (member.reason === "down" || member.reason === "returning");
  return open ? `${said} Served all the same: too few would be left.` : said;
}

/** When a group serves everybody rather than too few. */
export function fewestWords(group: Pick<Group, "min_members" | "members">): string {
  const all = group.members.length;
  if (group.min_members === 0) return "none need be left; it never fails open";
  if (group.min_members == null) return `half of them, ${Math.ceil(all / 2)} of ${all}`;
  return `${group.min_members} of ${all}`;
}

export function modeWords(mode: Schemas["FailoverMode"] | undefined): string {
  return mode === "weighted" ? "all that are in, by weight" : "the first that is in; the others stand by";
}

export function holdWords(seconds: number | null | undefined): string {
  return seconds ? `after being well for ${span(seconds)}` : "as soon as its monitor has recovered";
}

/** One sentence over the list: who fails open, who has members out. */
export function failoverSentence(groups: readonly Group[]): string {
  if (groups.length === 0) return "No failover group yet.";
  const named = (found: readonly Group[]) =>
    found.length > 3 ? plural(found.length, "group") : list(found.map((group) => group.name));
  const open = groups.filter((group) => group.now.fail_open);
  const some = groups.filter((group) => !group.now.fail_open && group.now.members.some((member) => !member.serve));
  if (open.length > 0)
    return `${named(open)} would be left with too few, so ${open.length === 1 ? "it serves" : "they serve"} all.`;
  if (some.length === 1 && some[0]) {
    const out = some[0].now.members.filter((member) => !member.serve).map((member) => member.name);
    return `${some[0].name} serves without ${out.length > 3 ? plural(out.length, "member") : list(out)}.`;
  }
  if (some.length > 1) return `${named(some)} serve without some of their members.`;
  return groups.length === 1 ? `${groups[0]?.name} serves all its members.` : "Every group serves all its members.";
}
