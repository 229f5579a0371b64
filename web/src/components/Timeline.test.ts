import { describe, expect, it } from "vitest";
import { gathered } from "./Timeline";

describe("ticks", () => {
  it("that stand too close become one, in order", () => {
    const ticks = [10, 100, 12, 14].map((at) => ({ at, words: String(at) }));
    expect(gathered(ticks, (at) => at).map((g) => [g.at, g.ticks.map((t) => t.words).join()])).toEqual([
      [10, "10,12,14"],
      [100, "100"],
    ]);
  });
});
