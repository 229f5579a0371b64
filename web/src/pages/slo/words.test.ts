import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { lookbackWord, pathWords, periodWord, sentence, standing, times } from "./words";

const NB = "\u00a0";
const now = Date.parse("2026-11-17T02:11:00Z") / 1000;

function report(change: Record<string, unknown> = {}): Schemas["SloReport"] {
  return {
    state: "burning",
    slo: {
      target_pct: "99.9",
      coverage_min: 0.9,
      window: { kind: "calendar", duration: "1M", timezone: "Europe/Berlin" },
    },
    window: { start: "2026-10-31T23:00:00Z", end: "2026-11-30T23:00:00Z", complete: false },
    availability: {
      pct: "99.900",
      best_pct: "99.900",
      worst_pct: "99.848",
      met: true,
      attainment_to_date: true,
    },
    coverage: { pct: "99.948" },
    time_ms: { unknown: 720_000, not_monitored: 0, paused: 0 },
    budget: {
      total_ms: 2_587_680,
      remaining_ms: 1_203_680,
      remaining_ratio: 0.46515,
      exhausts_at_if_down: "2026-11-17T02:31:03.680Z",
    },
    outages: { list: [{ ongoing: true }] },
    ...change,
  } as unknown as Schemas["SloReport"];
}

describe("the sentence", () => {
  it("says what is left and until when it lasts, on the clocks of the SLO", () => {
    expect(sentence(report(), "checkout", now)).toBe(
      `46.5${NB}% of the budget of November is left. It is gone at 03:31 if checkout stays down.`,
    );
    expect(sentence(report({ outages: { list: [] } }), "checkout", now)).toBe(
      `46.5${NB}% of the budget of November is left.`,
    );
  });
  it("is never a pass without data", () => {
    const nothing = { state: "no_data", coverage: { pct: null } };
    expect(sentence(report(nothing), "checkout", now)).toMatch(/insufficient data, which is no pass/);
    const little = { state: "no_data", coverage: { pct: "86.111" } };
    expect(sentence(report(little), "checkout", now)).toBe(
      `Insufficient data: 86.111${NB}% of the time is known, at least 90${NB}% are needed.`,
    );
  });
  it("says by how much it is overspent", () => {
    const over = { state: "breached", budget: { total_ms: 2_674_800, remaining_ms: -1200, remaining_ratio: -0.0004 } };
    expect(sentence(report(over), "checkout", now)).toBe(`The budget of November is overspent by 1.2${NB}s.`);
    const past = {
      ...over,
      window: { start: "2026-02-28T23:00:00Z", end: "2026-03-31T22:00:00Z", complete: true },
      availability: { met: false },
    };
    expect(sentence(report(past), "checkout", now)).toBe(
      `The objective of March was missed: the budget is overspent by 1.2${NB}s.`,
    );
  });
});

describe("how it stands", () => {
  it("gives the bounds that unknown time leaves", () => {
    expect(standing(report())).toBe(
      `To date 99.900${NB}% of 99.9${NB}%: met. With the 12${NB}min 00${NB}s of which nothing is known it lies between 99.848${NB}% and 99.900${NB}%.`,
    );
  });
  it("does not call a miss to date final while the budget lasts", () => {
    const below = { availability: { pct: "99.861", met: false, attainment_to_date: false } };
    expect(standing(report(below))).toMatch(/below, which the rest may still make good/);
    expect(standing(report({ ...below, state: "breached" }))).toMatch(/: below\./);
  });
});

describe("small words", () => {
  it("a rate that did not reach its mark does not read as if", () => {
    expect(times(14.39997)).toBe("14.39");
    expect(times(14.4)).toBe("14.4");
    expect(times(0.933333)).toBe("0.933");
    expect(times(720.9)).toBe("720");
    expect(times(null)).toBe("–");
  });
  it("periods, lookbacks and places of differences", () => {
    const year = report({ window: { start: "2025-09-30T22:00:00Z" } });
    expect(periodWord(year, now)).toBe("October 2025");
    expect([lookbackWord("5m"), lookbackWord("3d"), lookbackWord("90s")]).toEqual([`5${NB}min`, `3${NB}d`, `90${NB}s`]);
    expect(pathWords("/budget/remaining_ms")).toBe("budget, remaining ms");
  });
});
