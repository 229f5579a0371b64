import { describe, expect, it } from "vitest";
import { zoneOffset, zoneTicks } from "./axis";

const at = (text: string) => Date.parse(text) / 1000;

describe("ticks on the clocks of a zone", () => {
  it("stand at its midnights, also beyond a change of the clocks", () => {
    const ticks = zoneTicks(at("2026-02-28T23:00:00Z"), at("2026-03-31T22:00:00Z"), "Europe/Berlin", 7);
    expect(ticks.map((tick) => tick.word)).toEqual([
      "1 Mar",
      "6 Mar",
      "11 Mar",
      "16 Mar",
      "21 Mar",
      "26 Mar",
      "31 Mar",
    ]);
    expect(ticks[5]?.at).toBe(at("2026-03-25T23:00:00Z"));
    expect(ticks[6]?.at).toBe(at("2026-03-30T22:00:00Z"));
  });
  it("are whole hours within a day or two", () => {
    const ticks = zoneTicks(at("2026-11-16T23:00:00Z"), at("2026-11-17T23:00:00Z"), "Europe/Berlin", 5);
    expect(ticks.map((tick) => tick.word)).toEqual(["17 Nov", "06:00", "12:00", "18:00", "18 Nov"]);
  });
  it("know zones with half an hour", () => {
    expect(zoneOffset(at("2026-11-17T00:00:00Z"), "Asia/Kolkata")).toBe(19_800);
    expect(zoneOffset(at("2026-11-17T00:00:00Z"), "America/New_York")).toBe(-18_000);
  });
});
