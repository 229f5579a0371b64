import { describe, expect, test } from "vitest";
import type { Schemas } from "../../api/client";
import { behindWords, evidenceRows, fleetMark, fleetsSentence, fleetWord, readyWords, worstFirst } from "./words";

type Now = Schemas["Fleet"]["now"];

const quiet: Now = {
  state: "ok",
  sources: 1,
  live_sources: 1,
  open_findings: 0,
  worst: null,
  ready: 8,
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
    expect(fleetsSentence([shared, one])).toBe("Pay: shared cause and shop: one instance.");
  });

  test("silence is never health", () => {
    const silent = fleet("edge", { state: "no_data", live_sources: 0, ready: 4 });
    expect(fleetMark(silent)).toBe("unknown");
    expect(readyWords(silent.now)).toBe("not known");
    expect(behindWords(silent.now, Date.parse("2026-11-30T10:14:04Z") / 1000)).toBe("silent 14\u00a0min 00\u00a0s");
    expect(fleetsSentence([silent, fleet("shop", {})])).toBe("Nothing is found, but edge sends nothing.");
  });

  test("what traffic alone tells is in rotation, never ready", () => {
    expect(readyWords({ ...quiet, ready: null, in_rotation: 20 })).toBe("20 in rotation");
    expect(readyWords({ ...quiet, ready_low: 7, ready_high: 8 })).toBe("8 of 8 ready (7–8)");
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

  test("evidence becomes rows, nested numbers too", () => {
    expect(evidenceRows({ n: 212, share: 0.19339, codes: { "500": 41 }, names: [], none: null })).toEqual([
      ["n", "212"],
      ["share", "0.1934"],
      ["codes", "500\u00a041"],
      ["names", "none"],
    ]);
  });
});
