import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { levels, openStretches, reach, runsOf, since, stepFor, stepsOf } from "./budget";

const DAY = 86_400;
const iso = (day: number) => new Date(day * DAY * 1000).toISOString();
const history = (points: Record<string, unknown>[]) =>
  ({
    step: "1d",
    unit: "ms",
    points: points.map((p, i) => ({ at: iso(i + 1), coverage: 1, ...p })),
  }) as unknown as Schemas["SloHistory"];
const report = (kind: string) =>
  ({
    slo: { window: { kind } },
    window: { start: iso(0) },
    time_ms: { not_monitored: 0 },
    budget: { total_ms: 1000, nominal_ms: 1000, remaining_ms: 400 },
  }) as unknown as Schemas["SloReport"];

describe("the steps of a budget", () => {
  it("begin with the whole in a window that begins, and not in one that rolls", () => {
    const points = history([{ budget_left: 900 }]);
    expect(stepsOf(points, report("calendar"))[0]).toEqual({ at: 0, left: 1000, worst: null });
    expect(stepsOf(points, report("rolling"))).toHaveLength(1);
  });
  it("begin with the watching, and with what it left of the budget", () => {
    const late = {
      ...report("calendar"),
      time_ms: { not_monitored: DAY * 500 },
      budget: { total_ms: 600, nominal_ms: 1000 },
    };
    const steps = stepsOf(history([{ budget_left: 500 }]), late as unknown as Schemas["SloReport"]);
    expect(steps[0]).toEqual({ at: DAY / 2, left: 600, worst: null });
  });
  it("are not drawn before anything was measured", () => {
    const points = history([{ budget_left: 1000, coverage: null }, { budget_left: 900 }]);
    const steps = stepsOf(points, report("calendar"));
    expect(steps.map((step) => step.left)).toEqual([null, 900]);
    expect(since(steps)).toBe(2 * DAY);
  });
  it("break where nothing can be said", () => {
    const steps = stepsOf(
      history([{ budget_left: 900 }, { budget_left: null }, { budget_left: 800 }]),
      report("rolling"),
    );
    expect(runsOf(steps).map((run) => run.map((p) => p.left))).toEqual([[900], [800]]);
  });
  it("show how low it may be while time is unknown", () => {
    const steps = stepsOf(
      history([{ budget_left: 900 }, { budget_left: 900, budget_left_worst: 300 }, { budget_left: 800 }]),
      report("rolling"),
    );
    expect(openStretches(steps)).toEqual([{ from: 2 * DAY, to: 3 * DAY, low: 300, high: 900 }]);
    expect(reach(steps, report("rolling"))).toEqual([0, 1000]);
  });
});

describe("the axis of a budget", () => {
  it("is round on a clock", () => {
    expect(levels(0, 2_592_000, "ms")).toEqual([0, 600_000, 1_200_000, 1_800_000, 2_400_000]);
    expect(levels(-60_000, 60_000, "ms")).toEqual([-60_000, -30_000, 0, 30_000, 60_000]);
  });
  it("counts events by tens", () => {
    expect(levels(0, 43, "events")).toEqual([0, 10, 20, 30, 40]);
    expect(levels(0, 1, "events")).toEqual([0, 1]);
  });
  it("asks for no more points than there are given", () => {
    expect([stepFor(7 * DAY), stepFor(30 * DAY), stepFor(365 * DAY)]).toEqual(["1h", "6h", "1d"]);
  });
});
