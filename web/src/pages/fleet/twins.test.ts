import { expect, test } from "vitest";
import { twinWords } from "./twins";

const one = (instance: string, attempts: number, probes = 0, state = "ready") => ({
  instance,
  attempts,
  state,
  aliases: [],
  configured: false,
  probes_passed: probes,
  probes_failed: 0,
});

test("two names of one address are told", () => {
  expect(twinWords([one("10.0.0.1", 0), one("10.0.0.1:8080", 9)])).toContain("10.0.0.1 and 10.0.0.1:8080");
  expect(twinWords([one("10.0.0.1:80", 9), one("10.0.0.1:8080", 9)])).toBeNull();
  expect(twinWords([one("10.0.0.1", 0), one("10.0.0.1:80", 9), one("10.0.0.1:8080", 9)])).toBeNull();
  expect(twinWords([one("10.0.0.1", 0, 0, "gone"), one("10.0.0.1:8080", 9)])).toBeNull();
});

test("an own log beside a balancer's is suspect only where neither tells of the other's instances", () => {
  expect(twinWords([one("web1", 0, 5), one("app/web1", 9)])).toContain("web1 is known by an own log alone");
  expect(twinWords([one("web1", 4, 5), one("web2", 9, 5)])).toBeNull();
  expect(twinWords([one("web1", 0, 5)])).toBeNull();
});
