import { expect, test } from "vitest";
import { measuredBack, measuredOut } from "./measured";

const removal = (cause: string, ttr_ms: number | null, ttb_ms: number | null = null) => ({ cause, ttr_ms, ttb_ms });

test("what was done on purpose and what nobody saw fail is no measure of the check", () => {
  expect(measuredOut([])).toBeNull();
  expect(measuredOut([removal("drain", 90_000), removal("check", null)])).toBeNull();
  const three = [removal("check", 8_000), removal("check", 40_000), removal("check", 6_000), removal("gone", 99_000)];
  expect(measuredOut(three)).toEqual({ count: 3, median: 8, slowest: 40 });
});

test("returns are measured whatever the cause", () => {
  expect(measuredBack([removal("drain", null, 3_000), removal("check", 1, 5_000)])).toEqual({
    count: 2,
    median: 3,
    slowest: 5,
  });
});
