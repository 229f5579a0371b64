import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { addressesOf, bodyOf, checkOf, completeUrl, fieldOf, fresh, nameFor, policyOf, valuesOf } from "./values";

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
});
