import { describe, expect, it } from "vitest";
import { differences, text } from "./differences";

describe("what differs", () => {
  it("is told field by field, in the order of the labels", () => {
    const theirs = { name: "monthly", enabled: true, slos: ["a"], key: 1 };
    const mine = { name: "monthly", enabled: false, slos: ["a", "b"], key: 2 };
    expect(differences(theirs, mine, { slos: "SLOs", enabled: "On", name: "Name" })).toEqual([
      { label: "SLOs", theirs: "a", mine: "a, b" },
      { label: "On", theirs: "yes", mine: "no" },
    ]);
  });
  it("is nothing when only what has no label differs", () => {
    expect(differences({ a: 1, key: 1 }, { a: 1, key: 2 }, { a: "A" })).toEqual([]);
  });
  it("writes nothing as a dash", () => {
    expect([text(""), text([]), text(null), text({ a: "x", b: false })]).toEqual(["–", "–", "–", "x · no"]);
  });
});
