import { describe, expect, it } from "vitest";
import { cronWords, ordinal } from "./cron";

const plain = (text: string) => cronWords(text)?.replaceAll("\u00a0", " ") ?? null;

describe("a cron expression in words", () => {
  it("tells days and times", () => {
    expect(plain("0 8 1 * *")).toBe("on the 1st of every month at 08:00");
    expect(plain("0 8 1 1,4,7,10 *")).toBe("on the 1st of January, April, July and October at 08:00");
    expect(plain("0 8 1 */3 *")).toBe("on the 1st of January, April, July and October at 08:00");
    expect(plain("30 6,18 * * *")).toBe("every day at 06:30 and 18:30");
    expect(plain("0 8 1,15 * *")).toBe("on the 1st and 15th of every month at 08:00");
    expect(plain("0 8 L * *")).toBe("on the last day of every month at 08:00");
    expect(plain("0 8 * 6 *")).toBe("every day in June at 08:00");
  });
  it("tells weekdays by number and by name, Sunday as 0 and as 7", () => {
    expect(plain("0 8 * * 1")).toBe("every Monday at 08:00");
    expect(plain("0 8 * * MON-FRI")).toBe("Monday to Friday at 08:00");
    expect(plain("0 8 * * 7")).toBe("every Sunday at 08:00");
    expect(plain("0 8 * * 1,4")).toBe("every Monday and Thursday at 08:00");
    expect(plain("0 8 * * 1#1")).toBe("on the first Monday of every month at 08:00");
    expect(plain("0 8 * * FRIL")).toBe("on the last Friday of every month at 08:00");
    expect(plain("0 8 * 6 1")).toBe("every Monday in June at 08:00");
    expect(plain("0 8 1 * 1")).toBe("on the 1st of every month and every Monday at 08:00");
  });
  it("tells spans shorter than a day", () => {
    expect(plain("*/15 * * * *")).toBe("every 15 min");
    expect(plain("5 * * * *")).toBe("every hour at :05");
    expect(plain("@monthly")).toBe("on the 1st of every month at 00:00");
  });
  it("says nothing about what it does not understand", () => {
    for (const text of ["", "soon", "0 8 1 *", "0 0 8 1 * *", "61 8 1 * *", "0 8 0 * *", "0 8 1W * *", "* 8 1 * *"])
      expect(plain(text), text).toBeNull();
  });
});

describe("an ordinal", () => {
  it("ends as it is spoken", () => {
    expect([1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31].map(ordinal)).toEqual(
      "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 23rd 31st".split(" "),
    );
  });
});
