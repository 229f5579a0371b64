import { describe, expect, test } from "vitest";
import type { Schemas } from "../../api/client";
import { axisEnd, blamedFirst, place, verdictOf } from "./scale";

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
});
