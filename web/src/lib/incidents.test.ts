import { expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { acknowledgedWords, nameOf, severityWord, subjectOf } from "./incidents";

const about = (over: object) =>
  nameOf({ monitor: null, fleet: null, title: null, subject: "", kind: "fleet", ...over } as Schemas["IncidentRow"]);

test("an incident is called after its monitor, or after its fleet and what is wrong", () => {
  const fleet = { id: "0192", name: "shop-web" };
  expect(about({ monitor: { name: "checkout" }, subject: "monitor:0191" })).toBe("checkout");
  const title = "all fail alike from a shared cause";
  expect(about({ fleet, title, subject: "fleet:0192:errors:shop-8080" })).toBe(`shop-web: ${title}`);
  expect(subjectOf({ monitor: null, fleet, title, subject: "fleet:0192:errors:shop-8080", kind: "fleet" })).toBe(
    "shop-web",
  );
  expect(about({ fleet, subject: "fleet:0192:errors:10.9.0.11:8080" })).toBe("shop-web: 10.9.0.11:8080");
  expect(about({ fleet, subject: "fleet:0192:errors:web-3,web-4" })).toBe("shop-web: web-3, web-4");
  expect(about({ fleet, subject: "fleet:0192:errors:" })).toBe("shop-web");
  expect(about({ subject: "monitor:0191", kind: "monitor" })).toBe("a deleted monitor");
  expect(about({ subject: "platform:undelivered_alerts", kind: "platform", title: "cannot deliver alerts" })).toBe(
    "Quorate cannot deliver alerts",
  );
});

test("a fleet fails; only a monitor is down", () => {
  expect(severityWord({ fleet: null, kind: "monitor" }, "down")).toBeUndefined();
  expect(severityWord({ fleet: { id: "0192", name: "shop-web" }, kind: "fleet" }, "degraded")).toBe("Not as usual");
});

test("it says for how many of an alert somebody answers", () => {
  const answer = (acknowledged: number) =>
    acknowledgedWords({
      monitor: { name: "checkout" },
      subject: "monitor:0191",
      kind: "monitor",
      acknowledged,
    } as never);
  expect(answer(1)).toBe("checkout is acknowledged");
  expect(answer(0)).toBe("checkout is acknowledged");
  expect(answer(3)).toBe("checkout and 2 more of its alert are acknowledged");
});
