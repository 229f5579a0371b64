import { describe, expect, it } from "vitest";
import { align, cursorWords, niceTop, type Point, seriesSummary, withGaps } from "./series";

const p = (at: number, p50: number | null, fails = 0): Point => ({
  at,
  p50,
  p95: p50 === null ? null : p50 * 2,
  passes: 1,
  fails,
});

describe("series", () => {
  it("keeps gaps as gaps", () => {
    expect(withGaps([p(0, 10), p(60, 11), p(300, 12)], 60).map((x) => x.p50)).toEqual([10, 11, null, 12]);
    expect(withGaps([p(0, 10), p(60, 11)], 60)).toHaveLength(2);
  });
  it("puts series on one axis without guessing", () => {
    const data = align([
      { name: "eu", points: [p(0, 10), p(60, 11, 1)] },
      { name: "us", points: [p(60, 20, 2)] },
    ]);
    expect(data.times).toEqual([0, 60]);
    expect(data.p50).toEqual([
      [10, 11],
      [null, 20],
    ]);
    expect(data.fails).toEqual([0, 3]);
  });
  it("begins at 0 and ends at a round number", () => {
    expect(niceTop(121)).toBe(150);
    expect(niceTop(null)).toBe(100);
    expect(niceTop(980)).toBe(1000);
  });
  it("says what it shows", () => {
    const series = [{ name: "eu", points: [p(0, 10, 1)] }];
    expect(seriesSummary(series)).toContain("eu: p50 10\u00a0ms, p95 20\u00a0ms at the end, 1\u00a0fail");
    expect(seriesSummary([])).toBe("Latency: no data.");
    expect(cursorWords(series, align(series), 0)).toMatch(/: eu 10\u00a0ms \(p95 20\u00a0ms\) · 1\u00a0fail$/);
  });
});
