import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { lanes, policyWord, readAsked, toldWords, verdict, writeAsked } from "./words";

const sums = { incidents: 0, told: 0, brief: 0, alone: 0, missed: 0, delay_median_ms: null, delay_longest_ms: null };
const at = (second: number) => new Date(Date.UTC(2026, 10, 17, 2, 0, second)).toISOString();
const incident = (from: number, opened: number, to: number | null): Schemas["ReplayIncident"] => ({
  id: null,
  severity: "down",
  peak: "down",
  started_at: at(from),
  opened_at: at(opened),
  ended_at: to === null ? null : at(to),
  resolved_at: to === null ? null : at(to),
  low: false,
  suppressed: false,
  flapping: false,
  told: 2,
  before: false,
  delay_ms: (opened - from) * 1000,
  events: [],
});
const lane = (
  key: Schemas["ReplayLane"]["key"],
  incidents: Schemas["ReplayIncident"][],
  more: Partial<Schemas["ReplaySums"]> = {},
): Schemas["ReplayLane"] => ({ key, policy: null, odds: null, incidents, sums: { ...sums, ...more } });

const replay: Schemas["Replay"] = {
  from: at(0),
  to: at(3600),
  results: 100,
  lanes: [
    lane("real", [incident(100, 110, 400)], { delay_median_ms: 10_000 }),
    lane("present", [incident(100, 110, 400)]),
    lane("tried", [incident(100, 230, 400), incident(900, 930, 950)], { alone: 1, delay_median_ms: 130_000 }),
    lane("any_one", []),
  ],
  troubles: [
    { from: at(100), to: at(400), incidents: [[0], [0], [0]] },
    { from: at(900), to: at(950), incidents: [[], [], [1]] },
  ],
  caveats: [],
};

describe("a replay", () => {
  it("says in one sentence what would be different", () => {
    expect(verdict(replay)).toBe("This policy opens 1\u00a0more and tells 2\u00a0min 00\u00a0s later.");
    const same = { ...replay, lanes: replay.lanes.map((one) => (one.key === "tried" ? { ...one, sums } : one)) };
    const told = {
      ...same,
      lanes: same.lanes.map((one) => (one.key === "tried" ? { ...one, incidents: [incident(100, 111, 400)] } : one)),
    };
    expect(verdict({ ...told, troubles: told.troubles.slice(0, 1) })).toBe(
      "This policy would have told the same, as soon.",
    );
    expect(verdict({ ...replay, results: 0 })).toBe("There is no result in this span to replay.");
  });
  it("says of each trouble who told it and when", () => {
    const [first, second] = replay.troubles;
    expect(first && toldWords(replay, first, 2)).toBe("told after 2\u00a0min 10\u00a0s");
    expect(second && toldWords(replay, second, 0)).toBe("not told");
  });
  it("dashes what a lane misses, but not where any one location is enough", () => {
    const drawn = lanes(replay);
    expect(drawn.map((one) => one.dashed?.length)).toEqual([1, 1, 0, 0]);
    expect(drawn[2]?.intervals).toHaveLength(2);
  });
});

describe("what is tried", () => {
  it("survives the address, and nonsense does not", () => {
    const asked = { policy: { preset: "quick" as const }, without: ["a"], maintenance: false, quarantine: true };
    expect(readAsked(writeAsked(asked))).toEqual(asked);
    expect(readAsked("")).toBeNull();
    expect(readAsked("{")).toBeNull();
    expect(readAsked('{"policy":3}')).toBeNull();
  });
  it("is named after its preset", () => {
    expect(policyWord({ preset: "careful" })).toBe("Careful");
    expect(policyWord({ quorum: { mode: "majority" } })).toBe("Balanced");
    expect(policyWord({ preset: "quick", fail_after: 2 })).toBe("Quick, changed");
  });
});
