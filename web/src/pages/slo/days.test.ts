import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { piecesOf, worstOf } from "./days";

const day = (change: Partial<Schemas["SloReportDay"]>) =>
  ({
    date: "2026-11-03",
    length_ms: 86_400_000,
    down_ms: 0,
    partial_ms: 0,
    unknown_ms: 0,
    excluded_ms: 0,
    ...change,
  }) as Schemas["SloReportDay"];

describe("a day in a cell", () => {
  it("shows a second of downtime", () => {
    expect(piecesOf(day({ down_ms: 1000 }), 30)).toEqual([{ mark: "down", x: 0, width: 4 }]);
  });
  it("keeps within the cell when all of it is something", () => {
    const pieces = piecesOf(day({ down_ms: 1, unknown_ms: 43_200_000, excluded_ms: 43_199_999 }), 30);
    expect(pieces.map((piece) => piece.mark)).toEqual(["down", "unknown", "maintenance"]);
    const last = pieces[2];
    expect((last?.x ?? 0) + (last?.width ?? 0)).toBeCloseTo(30);
    expect(pieces[0]?.width).toBe(4);
  });
  it("names the gravest where there is no room", () => {
    expect(worstOf(day({ unknown_ms: 50_000_000, down_ms: 1 }))).toBe("down");
    expect(worstOf(day({}))).toBeNull();
  });
});
