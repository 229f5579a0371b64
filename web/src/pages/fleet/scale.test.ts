import { describe, expect, test } from "vitest";
import type { Schemas } from "../../api/client";
import { isShared } from "../../lib/fleets";
import { axisEnd, blamedFirst, peersBand, place, shareWithin, verdictOf } from "./scale";

type Instance = Schemas["FleetInstance"];

const instance = (name: string, share: number | null, kinds: string[] = []) =>
  ({
    instance: name,
    error_share: share,
    error_high: share,
    peers_share: 0.006,
    attempts: share === null ? 0 : 200,
    findings: kinds.map((kind) => ({ kind })),
  }) as unknown as Instance;

describe("the table of instances", () => {
  test("the axis ends at a round share and holds every interval", () => {
    expect(axisEnd([])).toBe(0.01);
    expect(axisEnd([instance("a", 0.254)])).toBe(0.3);
    expect(axisEnd([instance("a", 0.9)])).toBe(1);
    expect(place(0.15, 0.3)).toBe(0.5);
    expect(place(2, 0.3)).toBe(1);
  });

  test("blame comes first, the worst of it on top, the others by number", () => {
    const all = [
      instance("web-10", 0.02),
      instance("web-2", 0),
      instance("web-3", 0.1, ["errors"]),
      instance("web-9", 0.2, ["errors"]),
    ];
    expect(blamedFirst(all).map((i) => i.instance)).toEqual(["web-9", "web-3", "web-2", "web-10"]);
  });

  test("an instance without traffic is not like its peers, it is unknown", () => {
    expect(verdictOf(instance("a", null))).toBe("unknown");
    expect(verdictOf(instance("a", 0.01))).toBe("like");
    expect(verdictOf(instance("a", 0.2, ["errors"]))).toBe("unlike");
    expect(verdictOf(instance("a", 0.01, ["flapping"]))).toBe("trouble");
  });

  test("while everybody is hit alike nobody is judged, except who was named", () => {
    expect(verdictOf(instance("a", 0.1), true)).toBe("held");
    expect(verdictOf(instance("a", 0.9, ["errors"]), true)).toBe("unlike");
    expect(isShared({ kind: "errors", instances: [] })).toBe(true);
    expect(isShared({ kind: "few_ready", instances: [] })).toBe(false);
    expect(isShared({ kind: "errors", instances: ["a"] })).toBe(false);
  });

  test("what has always been so is chronic, not a fault of now", () => {
    const old = { attempts: 200, findings: [{ kind: "errors", chronic: true }] } as unknown as Instance;
    expect(verdictOf(old)).toBe("chronic");
  });

  test("the band of the peers grows with chance and ends at nothing", () => {
    const many = peersBand({ peers_share: 0.1, attempts: 10_000 });
    const few = peersBand({ peers_share: 0.1, attempts: 100 });
    expect(many?.low).toBeGreaterThan(few?.low ?? 1);
    expect(many?.high).toBeLessThan(few?.high ?? 0);
    // 0.1 ± 2.58 · √(0.09 · (0.0001 + 0.002))
    expect(many?.high).toBeCloseTo(0.1355, 3);
    expect(peersBand({ peers_share: 0.001, attempts: 50 })?.low).toBe(0);
    expect(peersBand({ peers_share: null, attempts: 50 })).toBeNull();
  });

  test("the share before is of the steps that are known", () => {
    const step = (minute: number, attempts: number | null, errors: number | null) => ({
      at: `2026-11-30T10:0${minute}:00Z`,
      attempts,
      errors,
      judged: true,
      revised: false,
    });
    const from = Date.parse("2026-11-30T10:00:00Z") / 1000;
    expect(shareWithin([step(0, 100, 1), step(1, null, null), step(2, 300, 3), step(5, 9, 9)], from, from + 300)).toBe(
      0.01,
    );
    expect(shareWithin([step(1, null, null)], from, from + 300)).toBeNull();
  });
});
