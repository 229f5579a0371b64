import { expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { suggestions } from "./suggest";

const answer = (more: Partial<Schemas["Observation"]>, evidence: Partial<Schemas["Evidence"]> = {}) =>
  suggestions({
    outcome: "pass",
    phases_us: { total: 181_200 },
    evidence: { headers: {}, ...evidence },
    ...more,
  } as Schemas["Observation"]);

test("every single value of a JSON body becomes a condition on its path", () => {
  const made = answer({}, { body: '{"status":"ok","parts":[{"n":1.5}],"odd name":null,"it\'s":true}' });
  expect(made.filter((s) => s.line.on === "json").map((s) => s.line)).toEqual([
    { on: "json", arg: "$.status", op: "eq", value: '"ok"' },
    { on: "json", arg: "$.parts[0].n", op: "eq", value: "1.5" },
    { on: "json", arg: "$['odd name']", op: "eq", value: "null" },
    { on: "json", arg: "$['it\\'s']", op: "eq", value: "true" },
  ]);
});

test("what the browser cannot hold exactly, and what is hidden, is not offered", () => {
  const made = answer({}, { body: '{"id":9007199254740993,"token":"(hidden)","small":7}' });
  expect(made.filter((s) => s.line.on === "json").map((s) => s.what)).toEqual(["$.small"]);
});

test("a body that was cut or is no JSON offers its title at most", () => {
  expect(answer({}, { body: '{"status":"o' }).some((s) => s.line.on === "json")).toBe(false);
  const page = answer({}, { body: "<html><title> Shop </title>" });
  expect(page.find((s) => s.line.on === "body")?.line.value).toBe("Shop");
});

test("headers that change by themselves are left out", () => {
  const made = answer({}, { headers: { date: ["now"], "x-request-id": ["7"], "content-type": ["text/html"] } });
  expect(made.filter((s) => s.line.on === "header").map((s) => s.line.arg)).toEqual(["content-type"]);
});

test("latency gets room, and records and banners of other kinds are offered", () => {
  const made = answer(
    {},
    {
      facts: [
        { label: "response code", value: "NOERROR" },
        { label: "record", value: "192.0.2.1" },
        { label: "banner", value: "220 mail ready" },
      ],
    },
  );
  expect(made.map((s) => s.line.on)).toEqual(["rcode", "record", "banner", "latency_ms"]);
  expect(made.find((s) => s.line.on === "latency_ms")?.line.value).toBe("300");
});
