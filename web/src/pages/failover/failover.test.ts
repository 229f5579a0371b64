import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { bodyOf, draftOf, emptyDraft, fieldOf } from "./draft";
import { records } from "./powerdns";
import { failoverSentence, fewestWords, groupSaid, memberSaid, why } from "./words";

type Group = Schemas["FailoverGroup"];
type Member = Schemas["FailoverMemberNow"];

const now = (name: string, serve: boolean, reason: Schemas["FailoverReason"]): Member => ({
  name,
  address: "192.0.2.1",
  weight: 1,
  serve,
  reason,
});

const group = (name: string, members: Member[], failOpen = false) =>
  ({
    name,
    mode: "ordered",
    min_members: null,
    return_after_s: 60,
    channels: ["c"],
    revision: 2,
    feed_url: `https://q.example/failover/${name}`,
    members: members.map((member, i) => ({
      name: member.name,
      address: `192.0.2.${(i + 1) * 10}`,
      monitor: `m${i}`,
      weight: 1,
    })),
    now: { at: "", serve: [], fail_open: failOpen, min_members: 1, sentence: "", members },
  }) as unknown as Group;

const fine = group("edge", [now("a", true, "up"), now("b", true, "unknown")]);
const some = group("shop", [now("a", false, "down"), now("b", true, "up")]);
const open = group("pay", [now("a", true, "down"), now("b", true, "down")], true);

describe("who is served", () => {
  it("is said of a group by mark and word", () => {
    expect(groupSaid(fine.now)).toEqual({ mark: "up", word: "All in" });
    expect(groupSaid(some.now)).toEqual({ mark: "partial", word: "1 of 2 out" });
    expect(groupSaid(open.now)).toEqual({ mark: "down", word: "Fails open: all in" });
  });
  it("is said of a member, with how sure that is", () => {
    expect(memberSaid(now("a", true, "unknown"))).toEqual({ mark: "unknown", word: "In" });
    expect(memberSaid(now("a", true, "override"))).toEqual({ mark: "up", word: "In" });
    expect(memberSaid(now("a", false, "override"))).toEqual({ mark: "down", word: "Out" });
    expect(memberSaid(now("a", false, "returning"))).toEqual({ mark: "recovering", word: "Out" });
    expect(why(now("a", true, "down"), true)).toMatch(/Served all the same/);
    expect(why(now("a", false, "down"), false)).toBe("Its monitor is down.");
  });
  it("is one sentence over all groups, the gravest first", () => {
    expect(failoverSentence([])).toBe("No failover group yet.");
    expect(failoverSentence([fine])).toBe("edge serves all its members.");
    expect(failoverSentence([fine, some])).toBe("shop serves without a.");
    expect(failoverSentence([fine, some, open])).toBe("pay would be left with too few, so it serves all.");
  });
  it("says when a group fails open", () => {
    expect(fewestWords(fine)).toBe("half of them, 1 of 2");
    expect(fewestWords({ ...fine, min_members: 2 })).toBe("2 of 2");
    expect(fewestWords({ ...fine, min_members: 0 })).toMatch(/never fails open/);
  });
});

describe("a record for PowerDNS", () => {
  it("prefers the first table of an ordered group", () => {
    expect(records(some, "qro_KEY").zone).toBe(
      [
        `shop 10 IN LUA A ( "ifurlextup({{['192.0.2.10']='https://q.example/failover/shop/members/a?token=qro_KEY'},"`,
        `    "{['192.0.2.20']='https://q.example/failover/shop/members/b?token=qro_KEY'}},"`,
        `    "{interval=5, timeout=2, backupSelector='all'})" )`,
      ].join("\n"),
    );
  });
  it("answers with all that are in of a weighted one, and says whom it cannot hold", () => {
    const mixed = { ...some, mode: "weighted" as const };
    mixed.members = [...some.members, { name: "c", address: "2001:db8::1", monitor: "m" }];
    mixed.members.push({ name: "d", address: "d.example", monitor: "m" });
    const { zone, left } = records(mixed, "K");
    expect(left).toEqual(["d"]);
    expect(zone).toContain(`"ifurlextup({{['192.0.2.10']='`);
    expect(zone).toContain(`?token=K'}},"`);
    expect(zone).toContain("selector='all', backupSelector='all'");
    expect(zone).toContain("shop 10 IN LUA AAAA ( \"ifurlextup({{['2001:db8::1']='");
  });
});

describe("the form of a group", () => {
  it("gives back what it was opened with", () => {
    const body = bodyOf(draftOf({ ...some, min_members: 1 }));
    expect(body).toMatchObject({ name: "shop", mode: "ordered", min_members: 1, return_after_s: 60, channels: ["c"] });
    expect(body.members).toEqual([
      { name: "a", address: "192.0.2.10", monitor: "m0", locations: null, weight: 1, partial_at: null },
      { name: "b", address: "192.0.2.20", monitor: "m1", locations: null, weight: 1, partial_at: null },
    ]);
  });
  it("starts with two members, and finds the field that a refusal names", () => {
    expect(emptyDraft().members).toHaveLength(2);
    expect(fieldOf("members[1].address")).toBe("members.1.address");
    expect(fieldOf("members[0].locations[2]")).toBe("members.0.locations");
    expect(fieldOf("members")).toBeNull();
    expect(fieldOf("channels[0]")).toBe("channels");
    expect(fieldOf("return_after_s")).toBe("return_after_s");
  });
});
