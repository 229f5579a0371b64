import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { holdWords, scopeWords, tally, voteRows, whyNot } from "./votes";

const at = 1_800_000_000;
const iso = (s: number) => new Date(s * 1000).toISOString();
const vote = (name: string, vote: string, more: object = {}) =>
  ({
    location: { id: name, name, region: "eu", domain: "net", simulated: false },
    vote,
    run: { outcome: vote === "down" ? "fail" : "pass", count: 2, needed: 2, since: iso(at) },
    saw: "200",
    address: "203.0.113.74",
    at: iso(at - 10),
    age_ms: 10_000,
    stale_after_s: 150,
    counts: true,
    why_not: null,
    ...more,
  }) as unknown as Schemas["Vote"];
const report = (votes: Schemas["Vote"][], more: object = {}) =>
  ({
    now: iso(at),
    votes,
    n: votes.length,
    e: votes.filter((v) => v.counts).length,
    e_min: 2,
    q: 2,
    d: 1,
    ...more,
  }) as unknown as Schemas["StateReport"];

describe("votes of a report", () => {
  it("go on ageing, and stop counting when they go stale on the page", () => {
    const votes = [vote("fra", "up"), vote("ams", "down")];
    expect(voteRows(report(votes), at + 5).map((r) => [r.age_s, r.counts])).toEqual([
      [15, true],
      [15, true],
    ]);
    const late = voteRows(report(votes), at + 141)[0];
    expect([late?.counts, late?.why]).toEqual([false, "too old by now"]);
  });
  it("say why one is not counted", () => {
    expect(whyNot(vote("fra", "up"))).toBeNull();
    expect(whyNot(vote("fra", "up", { counts: false, why_not: "quarantined" }))).toBe("the location is quarantined");
    expect(whyNot(vote("fra", "up", { counts: false, why_not: "stale" }))).toMatch(/^too old since /);
  });
  it("are tallied in words", () => {
    const r = report([
      vote("fra", "down"),
      vote("ams", "up"),
      vote("iad", "suspect"),
      vote("syd", "up", { counts: false }),
    ]);
    expect(tally(r)).toEqual([
      "1 fails",
      "1 passes",
      "1 in between",
      "1 not counted",
      "2 needed",
      "3 of 4 count, 2 must",
    ]);
  });
});

describe("what stands below", () => {
  it("names the scope", () => {
    expect(scopeWords({ kind: "edge", attribute: "address", values: ["203.0.113.10"] })).toContain(
      "shares address 203.0.113.10",
    );
    expect(scopeWords({ kind: "region", attribute: null, values: ["Europe"] })).toContain("in this region fail");
    expect(scopeWords(null)).toBeNull();
  });
  it("says what is about to change", () => {
    const hold = { toward: "down" as const, since: iso(at), until: iso(at + 60), paused: false };
    expect(holdWords(hold, at)).toMatch(/^Becomes down at /);
    expect(holdWords({ ...hold, paused: true }, at)).toContain("do not at the moment");
    expect(holdWords(null, at)).toBeNull();
  });
});
