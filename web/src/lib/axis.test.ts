import { describe, expect, it } from "vitest";
import { axisLabels, ticks, zoneOffset, zoneTicks } from "./axis";

const at = (text: string) => Date.parse(text) / 1000;

describe("an axis on the viewer's clock", () => {
  const noon = new Date(2026, 2, 17, 12, 0, 0).getTime() / 1000;
  const words = (seconds: number) => axisLabels(ticks(noon, noon + seconds, 6));

  it("tells seconds within a minute, and times within a day", () => {
    expect(words(40)).toEqual(["12:00:00", "12:00:10", "12:00:20", "12:00:30", "12:00:40"]);
    expect(words(1800)).toEqual(["12:00", "12:05", "12:10", "12:15", "12:20", "12:25", "12:30"]);
    expect(words(18 * 3600)).toEqual(["12:00", "15:00", "18:00", "21:00", "Wed 18 Mar", "03:00", "06:00"]);
  });

  it("tells days beyond that, at midnights whatever the clocks did", () => {
    expect(words(5 * 86_400)).toEqual(["Wed 18 Mar", "Thu 19 Mar", "Fri 20 Mar", "Sat 21 Mar", "Sun 22 Mar"]);
    const month = ticks(noon, noon + 30 * 86_400, 6);
    expect(month.every((at) => new Date(at * 1000).getHours() === 0)).toBe(true);
    expect(axisLabels(month).every((word) => / (Mar|Apr)$/.test(word))).toBe(true);
  });
});

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
