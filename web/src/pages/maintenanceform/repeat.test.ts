import { expect, test } from "vitest";
import { choiceOf, cronOf } from "./repeat";

test("a choice and its expression are the same thing", () => {
  for (const cron of ["0 2 * * *", "30 23 * * 1", "0 3 * * 1,3,5", "0 8 4 * *"])
    expect(cronOf(choiceOf(cron)), cron).toBe(cron);
  expect(choiceOf("0 2 * * 1-5").weekdays).toEqual([1, 2, 3, 4, 5]);
  for (const cron of ["30 * * * *", "0 8 24 12 *", "0 2,14 * * *"]) {
    expect(choiceOf(cron).repeat, cron).toBe("cron");
    expect(cronOf(choiceOf(cron)), cron).toBe(cron);
  }
});
