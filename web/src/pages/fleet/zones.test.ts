import { expect, test } from "vitest";
import type { Schemas } from "../../api/client";
import { zoneSteps, zoneWords } from "./Zones";

const zone = (name: string | null, ready: number | null, unknown = 0) => ({ zone: name, ready, unknown, instances: 3 });

test("a zone says what is not known of it", () => {
  expect(zoneWords(zone("a", 3), "ready")).toBe("3 of 3 ready");
  expect(zoneWords(zone("a", 2, 1), "ready")).toBe("2 of 3 ready, 1 not known");
  expect(zoneWords(zone("a", null, 3), "ready")).toBe("not known, of 3");
});

test("the line of a zone has a hole where it was not counted", () => {
  const step = (zones: unknown[]) => ({ at: "", ready: 9, zones }) as unknown as Schemas["ReadyStep"];
  const steps = [step([]), step([zone("a", 2), zone(null, 1)]), step([zone("a", null, 3)])];
  expect(zoneSteps(steps, "a").map((one) => one.ready)).toEqual([null, 2, null]);
  expect(zoneSteps(steps, null).map((one) => one.ready)).toEqual([null, 1, null]);
});
