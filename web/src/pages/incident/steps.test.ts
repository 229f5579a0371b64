import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { eventWords, firstShown, holdLine, numbers, rowsOf, turnWords } from "./steps";

const step = (more: Partial<Schemas["DecisionStep"]>): Schemas["DecisionStep"] => ({
  id: 1,
  at: "2026-11-17T02:00:00.000Z",
  rule: "q1",
  state: "up",
  changed: false,
  sentence: "1 of 3 locations sees it fail, 2 are needed.",
  events: [],
  turns: [],
  verdict: { raw: "down_low", n: 5, e: 4, e_min: 3, q: 3, d: 2, u: 1, min_domains: 2, min_regions: 2 },
  votes: [],
  hold: null,
  again: "same",
  ...more,
});

describe("an incident step by step", () => {
  it("begins at the opening", () => {
    expect(firstShown([step({}), step({}), step({ events: ["suppressed:opened:down"] })])).toBe(2);
    expect(firstShown([step({})])).toBe(0);
    expect(firstShown([])).toBe(0);
  });
  it("says what came of a step", () => {
    expect(eventWords(step({ events: ["suppressed:opened:down", "flap_start"] }))).toBe(
      "incident opened, nobody told and held open, it flaps",
    );
    expect(eventWords(step({}))).toBe("");
    const turns = [
      { location: "eu", from: "none", to: "up", at: "" },
      { location: "us", from: "suspect", to: "down", at: "" },
    ];
    expect(turnWords(step({ turns }))).toBe("eu: new to up, us: suspect to down");
  });
  it("says how long it waits, and when it does not", () => {
    const hold = { toward: "partial", since: "2026-11-17T02:00:00Z", until: "2026-11-17T02:02:00Z" } as const;
    expect(holdLine(step({ hold: { ...hold, paused: false } }))).toContain("to become partial");
    expect(holdLine(step({ hold: { ...hold, paused: true } }))).toContain("stood still");
    expect(holdLine(step({}))).toBeNull();
  });
  it("shows each number with what it is", () => {
    expect(numbers(step({}))).toContainEqual(["See it down", "2, 3 needed"]);
    expect(numbers(step({}))).toContainEqual(["Verdict", "down low"]);
  });
  it("shows an older decision without what it did not keep", () => {
    const vote = {
      location: "eu",
      region: "eu",
      domain: "P1",
      vote: "down",
      run: null,
      run_of: null,
      needed: null,
      saw: "HTTP 503",
      address: null,
      age_ms: null,
      stale_after_s: null,
      counts: false,
      why_not: "quarantined",
    } as const;
    expect(rowsOf(step({ votes: [vote] }))[0]).toMatchObject({
      run: 0,
      age_s: null,
      why: "the location is quarantined",
    });
  });
});
