import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { addressesOf, completeUrl, nameFor } from "./address";
import { bodyOf, checkOf, fieldOf, fresh, policyOf, valuesOf } from "./values";

const saved = {
  name: "checkout",
  group: "shop",
  check: {
    kind: "http",
    url: "https://shop.example/health",
    method: "POST",
    headers: { "x-a": "1", "x-b": ["1", "2"] },
    auth: { basic: { username: "u", password: "(hidden)" } },
    tls: { verify: false, server_name: "shop.example", min_days_left: 14, later: 1 },
    ip_family: "4",
    max_body: 65_536,
    assertions: [{ on: "json", path: "$.status", op: "eq", value: "ok" }],
    something_new: { kept: true },
  },
  interval_s: 60,
  timeout_s: 2.5,
  slow_ms: 500,
  locations: ["eu", "us"],
  policy: { preset: "careful", quorum: { mode: "at_least", k: 2 }, fail_after: 4 },
  labels: { team: "shop" },
  channels: null,
  runbook_url: null,
} as unknown as Schemas["Monitor"];

describe("the monitor form", () => {
  it("gives back what was saved, also what it does not show", () => {
    const body = bodyOf(valuesOf(saved));
    expect(body.check).toEqual(saved.check);
    expect(body.policy).toEqual(saved.policy);
    expect(body.locations).toEqual(["eu", "us"]);
    expect(body.slow_ms).toBe(500);
    expect(body.channels).toBeNull();
  });
  it("leaves defaults out of a new check", () => {
    const v = { ...fresh, url: "shop.example/health" };
    expect(checkOf(v)).toEqual({
      kind: "http",
      url: "https://shop.example/health",
      method: "GET",
      assertions: [{ on: "status", op: "in", value: ["2xx"] }],
    });
    expect(policyOf(v)).toEqual({ preset: "balanced" });
    expect(bodyOf(v).locations).toBe("all");
  });
  it("completes addresses and proposes names", () => {
    expect(completeUrl("http://x")).toBe("http://x");
    expect(nameFor("https://shop.example/api/cart/")).toBe("shop.example/api/cart");
    expect(nameFor("shop.example")).toBe("shop.example");
    expect(nameFor("https://")).toBe("");
    expect(addressesOf(" a.example\n b.example  ")).toEqual(["a.example", "b.example"]);
  });
  it("finds the field that a refusal names", () => {
    expect(fieldOf("check.url")).toBe("url");
    expect(fieldOf("check.assertions[1].value")).toBe("assertions.1.value");
    expect(fieldOf("assertions[0].path")).toBe("assertions.0.arg");
    expect(fieldOf("policy.fail_after")).toBe("overrides.fail_after");
    expect(fieldOf("policy.quorum.k")).toBe("k");
    expect(fieldOf("check.max_body")).toBe("max_body_kib");
    expect(fieldOf("check.auth.bearer")).toBe("token");
    expect(fieldOf("depends_on[0]")).toBe("depends_on");
    expect(fieldOf("enabled")).toBeNull();
  });
  it("leaves out of a heartbeat what only probing needs", () => {
    const job = {
      ...saved,
      check: { kind: "heartbeat", cron: "30 2 * * *", zone: "Europe/Berlin", grace_s: 600, max_run_s: 7200 },
      locations: [],
    } as unknown as Schemas["Monitor"];
    const body = bodyOf(valuesOf(job));
    expect(body.check).toEqual(job.check);
    for (const field of ["locations", "policy", "interval_s", "timeout_s", "slow_ms"])
      expect(body).not.toHaveProperty(field);
    expect(body.labels).toEqual({ team: "shop" });
    const v = { ...fresh, kind: "heartbeat", period_s: 3600 };
    expect(checkOf(v)).toEqual({ kind: "heartbeat", period_s: 3600, grace_s: 300 });
    expect(fieldOf("check.grace_s")).toBe("grace_s");
    expect(fieldOf("check.kind")).toBe("kind");
  });
  it("keeps the check of a kind that it does not know", () => {
    const check = { kind: "later", target: "x", deep: { a: 1 } };
    expect(bodyOf(valuesOf({ ...saved, check } as unknown as Schemas["Monitor"])).check).toEqual(check);
  });
});
