import { describe, expect, it } from "vitest";
import { nextRange, rangeFor, rangeWord, readRange, writeRange } from "./range";

describe("time ranges", () => {
  it("move with the clock in whole steps", () => {
    const a = readRange("1h", 1_000_003);
    expect(a.to - a.from).toBe(3600);
    expect(a.moving).toBe(true);
    expect(readRange("1h", 1_000_009)).toEqual(a);
  });
  it("stay where they were zoomed to", () => {
    expect(readRange(writeRange(100.7, 200.2), 9999)).toEqual({ from: 100, to: 201, moving: false });
    expect(readRange("200-100", 86_400).moving).toBe(true);
  });
  it("step with [ and ]", () => {
    expect(nextRange("24h", -1)).toBe("6h");
    expect(nextRange("30d", 1)).toBe("30d");
    expect(nextRange("5-900", -1)).toBe("1h");
    expect([rangeFor(60), rangeFor(7200), rangeFor(9e9)]).toEqual(["1h", "6h", "24h"]);
    expect(rangeWord("24h")).toBe("24\u00a0h");
  });
});
