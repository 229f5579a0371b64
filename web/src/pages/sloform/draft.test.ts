import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { bodyOf, draftOf, emptyDraft, fieldOf, isAskable } from "./draft";

const slo = {
  name: "checkout",
  service: "shop",
  description: "",
  owner: "",
  labels: { team: "shop" },
  subject: "monitor",
  monitor: { id: "m", name: "checkout" },
  fleet: null,
  composite: null,
  members: [],
  sli: "latency",
  threshold_us: 300_500,
  denominator: "all",
  weight: null,
  min_requests: null,
  target_ppb: 999_500_000,
  window: { kind: "rolling", duration: "28d", timezone: "UTC" },
  unknown_policy: "down",
  maintenance_policy: "exclude",
  partial_weight_ppm: 300_000,
  coverage_min: 0.9,
  decimals: 3,
  rules: [{ name: "fast", severity: "page", long_s: 3600, short_s: 300, budget_fraction: 0.02, min_bad: 2 }],
  usual_rules: false,
  channels: null,
} as unknown as Schemas["Slo"];

describe("the form of an SLO", () => {
  it("gives back what it was opened with", () => {
    expect(bodyOf(draftOf(slo))).toMatchObject({
      monitor: "m",
      members: null,
      fleet: null,
      sli: "latency",
      threshold_us: 300_500,
      denominator: "all",
      target_ppb: 999_500_000,
      window: { kind: "rolling", duration: "28d" },
      unknown_policy: "down",
      coverage_min: 0.9,
      labels: { team: "shop" },
      channels: null,
      rules: [{ name: "fast", severity: "page", long_s: 3600, short_s: 300, budget_fraction: 0.02, min_bad: 2 }],
    });
  });
  it("takes away what does not apply any more", () => {
    const together = bodyOf({ ...draftOf(slo), subject: "composite", members: ["a", "b"] });
    expect(together).toMatchObject({ monitor: null, members: ["a", "b"], sli: "availability", threshold_us: null });
    const fleet = bodyOf({ ...draftOf(slo), subject: "fleet", fleet: "f", fallback: "m", min_requests: 30 });
    expect(fleet).toMatchObject({ fleet: "f", monitor: "m", sli: "requests", fallback: "monitor", min_requests: 30 });
    expect(fleet.threshold_us).toBeNull();
    const quick = bodyOf({ ...draftOf(slo), subject: "fleet", fleet: "f", within_ms: 250.5 });
    expect(quick).toMatchObject({ sli: "requests", threshold_us: 250_500, denominator: null });
    expect(draftOf({ ...slo, subject: "fleet", sli: "requests", threshold_us: 250_500 }).within_ms).toBe(250.5);
    const usual = bodyOf({ ...draftOf(slo), own_rules: false });
    expect(usual.rules).toBeNull();
  });
  it("asks only when there is something to look at", () => {
    const empty = emptyDraft("", "UTC");
    expect(isAskable(empty)).toBe(false);
    expect(isAskable({ ...empty, monitor: "m" })).toBe(true);
    expect(isAskable({ ...empty, monitor: "m", target: "100" })).toBe(false);
    expect(isAskable({ ...empty, subject: "fleet", monitor: "m" })).toBe(false);
  });
  it("finds the field that a refusal names", () => {
    const of = (field: string, kind = "rolling", subject = "monitor") => fieldOf(field, { kind, subject });
    expect(of("target_ppb")).toBe("target");
    expect(of("window.duration")).toBe("days");
    expect(of("window.duration", "calendar")).toBe("period");
    expect(of("members[1]")).toBe("members");
    expect(of("monitor", "rolling", "fleet")).toBe("fallback");
    expect(of("rules[2].budget_fraction")).toBe("rules.2.share");
    expect(of("something")).toBeNull();
  });
});
