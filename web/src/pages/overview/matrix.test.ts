import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { isLoud, matrixOf } from "./matrix";

const row = (name: string, state: string, votes: Record<string, string>, silent: string[] = []) =>
  ({
    id: name,
    name,
    state,
    seats: Object.entries(votes).map(([location, vote]) => ({
      location,
      name: location,
      vote,
      counts: !silent.includes(location),
    })),
  }) as unknown as Schemas["MonitorRow"];

describe("locations × monitors", () => {
  it("gives columns to trouble, blocks to a lone location, and a count to agreement", () => {
    const m = matrixOf([
      row("checkout", "down", { fra: "down", ams: "down", syd: "up" }),
      row("a", "up", { fra: "up", ams: "up", syd: "down" }),
      row("b", "up", { fra: "up", ams: "up", syd: "up" }, ["syd"]),
      row("c", "up", { fra: "suspect", ams: "up", syd: "up" }),
      row("d", "up", { fra: "up", ams: "up", syd: "up" }),
      row("e", "paused", { fra: "none" }),
    ]);
    expect(m.columns.map((c) => c.monitor.name)).toEqual(["checkout", "c"]);
    expect(m.onlyDiffers).toEqual([{ location: "syd", count: 2 }]);
    expect(m.agree).toBe(1);
  });
  it("draws ink for disagreement only", () => {
    expect(isLoud({ vote: "up", counts: true })).toBe(false);
    expect(isLoud({ vote: "up", counts: false })).toBe(true);
    expect(isLoud({ vote: "down", counts: true })).toBe(true);
  });
});
