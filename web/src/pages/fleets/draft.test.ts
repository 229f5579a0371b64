import { describe, expect, test } from "vitest";
import { bodyOf, draftOf, parseInstances, timing, writeInstances } from "./draft";

describe("the form of a fleet", () => {
  test("instances are read and written one a line", () => {
    const text = "web-1 10.9.0.11:8080 app/web1 [eu-1a]\nweb-2 10.9.0.12:8080\nweb-3";
    const read = parseInstances(`\n ${text}\n`);
    expect(read).toEqual([
      { name: "web-1", addresses: ["10.9.0.11:8080", "app/web1"], zone: "eu-1a" },
      { name: "web-2", addresses: ["10.9.0.12:8080"], zone: null },
      { name: "web-3", addresses: [], zone: null },
    ]);
    expect(writeInstances(read ?? [])).toBe(text);
    expect(parseInstances("web-1 [eu [x")).toBeNull();
  });

  test("what is left empty is taken back, not kept", () => {
    const body = bodyOf({ ...draftOf(), name: "shop" });
    expect(body.expected).toBeNull();
    expect(body.check).toBeNull();
    expect(body.platform).toBeNull();
    expect(body.rules.channels).toBeNull();
  });

  test("a floor and exceptions by kind come back as they were", () => {
    const draft = { ...draftOf(), name: "shop", platform: "envoy", floor: 12.5 };
    const body = bodyOf({ ...draft, kinds: { ...draft.kinds, latency: "never" } });
    expect(body.platform).toEqual({ kind: "envoy", floor: 0.125 });
    expect(body.rules.kinds).toEqual({ latency: "never" });
    const saved = draftOf({ ...body, rules: body.rules, id: "f" } as never);
    expect([saved.floor, saved.kinds.latency, saved.kinds.errors]).toEqual([12.5, "never", ""]);
    expect(bodyOf({ ...draft, floor: "" }).platform).toEqual({ kind: "envoy", floor: null });
  });

  test("times follow the check as typed", () => {
    const check = { interval_s: 30, timeout_s: 5, unhealthy: 2, healthy: 5, platform: "alb" } as const;
    expect(timing(check)).toEqual({ minimum: 60, worst: 65, back: 150 });
    expect(timing({ ...check, platform: "app_gateway" })).toEqual({ minimum: 90, worst: 95, back: 150 });
    expect(timing({ ...check, healthy: "" })).toBeNull();
  });
});
