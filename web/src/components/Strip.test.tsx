import { render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { type Interval, layOut, Strip, stripSummary } from "./Strip";

const t = (s: number) => new Date(s * 1000).toISOString();
const piece = (from: number, to: number | null, state: string, more: Partial<Interval> = {}): Interval => ({
  from: t(from),
  to: to === null ? null : t(to),
  state,
  ...more,
});

describe("a strip", () => {
  it("leaves a gap empty instead of filling it in", () => {
    const runs = layOut([piece(0, 30, "up"), piece(60, 100, "up")], 0, 100, 100);
    expect(runs.map((r) => [r.x, r.width])).toEqual([
      [0, 30],
      [60, 40],
    ]);
  });
  it("shows the worst state of a pixel, however short it was", () => {
    const day = [piece(0, 43_200, "up"), piece(43_200, 43_210, "down"), piece(43_210, null, "up")];
    const runs = layOut(day, 0, 86_400, 240);
    expect(runs.map((r) => r.state)).toEqual(["up", "down", "up"]);
  });
  it("clips to its span and keeps stale evidence apart", () => {
    const runs = layOut([piece(-50, 50, "down"), piece(50, 500, "down", { evidence_stale: true })], 0, 100, 10);
    expect(runs.map((r) => [r.x, r.width, r.stale])).toEqual([
      [0, 5, false],
      [5, 5, true],
    ]);
  });
  it("is said in words", () => {
    const pieces = [piece(0, 90, "up"), piece(90, null, "down")];
    expect(stripSummary(pieces, 0, 100)).toBe("up 1\u00a0min 30\u00a0s and down 10\u00a0s");
    expect(stripSummary([], 0, 100)).toBe("no data");
    render(<Strip intervals={pieces} from={0} to={100} label="Last 24 h" />);
    expect(screen.getByRole("img", { name: /^Last 24 h: up/ })).toBeInTheDocument();
  });
});
