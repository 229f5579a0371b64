import { describe, expect, it } from "vitest";
import { compare, type Line, seats } from "./evidence";

const line = (name: string, vote: string, saw: string, address: string, uncounted: string | null = null): Line => ({
  name,
  region: "eu",
  domain: name,
  vote,
  class: null,
  saw,
  address,
  simulated: false,
  uncounted,
});

const lines = [
  line("fra", "down", "503", "203.0.113.10"),
  line("ams", "down", "503", "203.0.113.10"),
  line("sin", "down", "time-out", "203.0.113.10"),
  line("sjc", "up", "", "203.0.113.74"),
  line("syd", "down", "time-out", "203.0.113.74", "quarantined"),
];

describe("what they saw", () => {
  it("tells failing from passing and leaves uncounted votes out", () => {
    const { failing, passing, rows } = compare(lines);
    expect([failing.length, passing.length]).toEqual([3, 1]);
    const by = Object.fromEntries(rows.map((r) => [r.word, r]));
    expect(by.Saw?.failing).toBe("503 (2), time-out (1)");
    expect(by.Address).toMatchObject({ failing: "203.0.113.10", passing: "203.0.113.74", differs: true });
    expect(by.Region?.differs).toBe(false);
  });
  it("calls nothing different when nobody passes", () => {
    expect(compare(lines.slice(0, 3)).rows.some((r) => r.differs)).toBe(false);
  });
  it("gives uncounted locations a seat of their own", () => {
    expect(seats(lines).filter((s) => !s.counts)).toEqual([{ location: "syd", vote: "quarantined", counts: false }]);
  });
});
