import { describe, expect, test } from "vitest";
import type { Schemas } from "../../api/client";
import { deploysOf } from "./deploys";
import { fitLabels, isHole } from "./hour";
import { badRoutes, columnsOf, shareIn } from "./routes";

const event = (minute: number, instance: string, what: unknown): Schemas["FleetEvent"] => ({
  source: "kube",
  at: new Date(Date.UTC(2026, 10, 30, 10, minute)).toISOString(),
  event: { instance, what } as never,
});

describe("deploys", () => {
  test("reports of one version close together are one roll-out", () => {
    const deploys = deploysOf([
      event(3, "web-10", { version: "2" }),
      event(1, "web-2", { version: "2" }),
      event(2, "web-2", { state: "ready" }),
      event(4, "web-1", "started"),
      event(50, "web-3", { version: "2" }),
      event(51, "web-3", { version: "1" }),
    ]);
    expect(deploys.map((d) => [d.version, d.instances])).toEqual([
      ["2", ["web-2", "web-10"]],
      ["2", ["web-3"]],
      ["1", ["web-3"]],
    ]);
    expect((deploys[0]?.to ?? 0) - (deploys[0]?.from ?? 0)).toBe(120);
  });
});

test("the running minute is no hole, silence is one", () => {
  const now = (state: string) => ({ now: { state, newest_at: "2026-11-30T10:05:20.000Z" } as never, step_s: 60 });
  const step = (minute: number) => ({ at: `2026-11-30T10:0${minute}:00.000Z`, attempts: null });
  expect([3, 4, 5].map((minute) => isHole(step(minute), now("ok")))).toEqual([true, true, false]);
  expect(isHole(step(5), now("no_data"))).toBe(true);
  expect(isHole({ ...step(3), attempts: 0 }, now("ok"))).toBe(false);
});

describe("labels on one line", () => {
  test("one that does not fit changes sides, one that would lie over another is left out", () => {
    const placed = fitLabels(
      [
        { key: "a", x: 100, text: "first" },
        { key: "b", x: 110, text: "over the first, too long for the left" },
        { key: "c", x: 390, text: "turned" },
      ],
      90,
      400,
    );
    expect(placed.map((label) => [label.key, label.anchor])).toEqual([
      ["a", "start"],
      ["c", "end"],
    ]);
  });
});

const route = (name: string, ...cells: [number, number][]): Schemas["FleetRoute"] => ({
  route: name,
  attempts: cells.reduce((sum, [n]) => sum + n, 0),
  errors: cells.reduce((sum, [, e]) => sum + e, 0),
  instances: cells.map(([attempts, errors], i) => ({ instance: `i-${i + 1}`, attempts, errors, p90_ms: null })),
});

describe("routes × instances", () => {
  test("a route that fails on most instances is a bad row, one that fails on one is not", () => {
    const routes = [
      route("GET /", [900, 1], [900, 0], [900, 2]),
      route("POST /pay", [100, 60], [100, 66], [100, 61]),
      route("GET /x", [100, 20], [100, 0], [100, 0]),
    ];
    expect([...badRoutes(routes)]).toEqual(["POST /pay"]);
    expect([...badRoutes([route("GET /", [900, 0], [900, 0])])]).toEqual([]);
  });

  test("of many instances the blamed ones keep their column and the others share one", () => {
    const many = route("GET /", ...Array.from({ length: 40 }, (_, i): [number, number] => [100, i === 16 ? 50 : 1]));
    const columns = columnsOf([many], new Set(["i-17"]));
    expect(columns.map((c) => c.name)).toEqual(["i-17", "39\u00a0others"]);
    expect(columns.map((c) => shareIn(many, c))).toEqual([0.5, 0.01]);
    expect(columnsOf([many], new Set())).toEqual([]);
  });
});
