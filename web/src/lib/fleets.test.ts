import { describe, expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { behindWords, fleetMark, fleetsSentence, fleetWord, marksOf, readyWords, worstFirst } from "./fleets";

type Now = Schemas["Fleet"]["now"];

const quiet: Now = {
  state: "ok",
  sources: 1,
  live_sources: 1,
  open_findings: 0,
  worst: null,
  ready: 8,
  unknown: 0,
  expected: 8,
  received_at: "2026-11-30T10:00:04Z",
  newest_at: "2026-11-30T10:00:00Z",
} as Now;

const fleet = (name: string, now: Partial<Now>) => ({ id: name, name, now: { ...quiet, ...now } }) as Schemas["Fleet"];

const worst = (kind: string, instances: string[]): Now["worst"] =>
  ({
    id: "f",
    kind,
    instances,
    severity: "critical",
    sentence: "",
    chronic: false,
    from: "",
  }) as unknown as Now["worst"];

describe("fleets in words", () => {
  test("an instance is named only when one is to blame", () => {
    const one = fleet("shop", { state: "critical", worst: worst("errors", ["web-3"]) });
    const shared = fleet("pay", { state: "critical", worst: worst("errors", []) });
    expect([fleetWord(one), fleetMark(one)]).toEqual(["One instance", "down"]);
    expect([fleetWord(shared), fleetMark(shared)]).toEqual(["Shared cause", "partial"]);
    expect(fleetsSentence([shared, one])).toBe("In pay something shared is bad. In shop one instance is bad.");
  });

  test("silence is never health", () => {
    const silent = fleet("edge", { state: "no_data", live_sources: 0, ready: 4 });
    expect(fleetMark(silent)).toBe("unknown");
    expect(readyWords(silent.now)).toBe("not known");
    expect(behindWords(silent.now, Date.parse("2026-11-30T10:14:02Z") / 1000)).toBe("silent 14\u00a0min");
    expect(fleetsSentence([silent, fleet("shop", {})])).toBe("Nothing is found, but edge sends nothing.");
  });

  test("what traffic alone tells is in rotation, never ready", () => {
    expect(readyWords({ ...quiet, ready: null, in_rotation: 20 })).toBe("20 in rotation");
    expect(readyWords({ ...quiet, ready_low: 7, ready_high: 8 })).toBe("8 of 8 ready (7–8)");
  });

  test("marks: who is named, who is missing, everybody, or nobody knows", () => {
    const of = (now: Partial<Now>) => marksOf(fleet("f", now));
    expect(of({ state: "critical", worst: worst("errors", ["web-3"]) })).toEqual({ of: 8, bad: 1, mark: "down" });
    expect(of({ state: "critical", worst: worst("errors", []) })).toEqual({ of: 8, bad: 8, mark: "partial" });
    expect(of({ state: "warning", ready: 6, worst: worst("few_ready", []) })).toEqual({ of: 8, bad: 2, mark: "slow" });
    expect(of({ state: "no_data", ready: null })).toEqual({ of: 8, bad: 8, mark: "unknown" });
    const silent = { state: "warning", ready: 5, unknown: 3, worst: worst("no_data", ["lb-2"]) } as const;
    expect(of(silent)).toEqual({ of: 8, bad: 3, mark: "unknown" });
    expect(of({ state: "ok", worst: worst("errors", ["web-3"]) })).toEqual({ of: 8, bad: 0, mark: "unknown" });
  });

  test("the worst come first", () => {
    const all = [
      fleet("b", {}),
      fleet("a", {}),
      fleet("w", { state: "waiting" }),
      fleet("n", { state: "no_data" }),
      fleet("c", { state: "critical" }),
    ];
    expect(worstFirst(all).map((f) => f.name)).toEqual(["c", "n", "w", "a", "b"]);
  });
});
