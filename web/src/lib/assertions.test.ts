import { describe, expect, it } from "vitest";
import { type Assertion, fromApi, opsOf, subjects, toApi, words } from "./assertions";

const cases: Assertion[] = [
  { on: "status", op: "in", value: ["2xx", 304] },
  { on: "status", op: "eq", value: 404 },
  { on: "json", path: "$.status", op: "eq", value: "ok" },
  { on: "json", path: "$.n", op: "eq", value: 5 },
  { on: "json", path: "$.n", op: "eq", value: null },
  { on: "json", path: "$.list", op: "in", value: ["a", 1] },
  { on: "json", path: "$.id", op: "matches", value: "^[0-9]+$" },
  { on: "header", name: "x-id", op: "exists" },
  { on: "body", op: "contains", value: "5" },
  { on: "body", op: "len_gt", value: 12 },
  { on: "latency_ms", op: "le", value: 800 },
  { on: "cert_issuer", op: "in", value: ["A", "B"] },
];

describe("conditions", () => {
  it("come back from the form as they went in", () => {
    for (const a of cases) expect(toApi(fromApi(a))).toEqual(a);
  });
  it("do not guess types", () => {
    expect(toApi({ on: "json", arg: "$.n", op: "eq", value: '"5"' }).value).toBe("5");
    expect(toApi({ on: "json", arg: "$.n", op: "eq", value: "5" }).value).toBe(5);
    expect(toApi({ on: "body", arg: "", op: "eq", value: "5" }).value).toBe("5");
  });
  it("leave what is no number for the server to refuse", () => {
    expect(toApi({ on: "latency_ms", arg: "", op: "le", value: "fast" }).value).toBe("fast");
  });
  it("read as a few words", () => {
    expect(words({ on: "status", op: "in", value: ["2xx"] })).toBe("status in 2xx");
    expect(words({ on: "json", path: "$.status", op: "eq", value: "ok" })).toBe('$.status is "ok"');
    expect(words({ on: "latency_ms", op: "le", value: 800 })).toBe("latency ≤ 800\u00a0ms");
    expect(words({ on: "header", name: "x-id", op: "exists" })).toBe("header x-id exists");
  });
  it("offer operators for every subject", () => {
    for (const s of subjects) expect(opsOf(s.on).length).toBeGreaterThan(3);
  });
});
