import { describe, expect, it } from "vitest";
import { ago, clock, day, epoch, hourMinute, longDay, utc, when, zoneLabel } from "./time";

const zone = "Europe/Berlin";
const at = "2026-11-17T02:07:24.000Z";
const now = "2026-11-17T02:12:06.000Z";

describe("instants in the viewer's zone", () => {
  it("writes clock, day and date", () => {
    expect(clock(at, zone)).toBe("03:07:24");
    expect(hourMinute(at, zone)).toBe("03:07");
    expect(day(at, now, zone)).toBe("Tue 17 Nov");
    expect(day("2025-11-17T02:07:24Z", now, zone)).toBe("Mon 17 Nov 2025");
    expect(longDay(at, zone)).toBe("Tuesday 17 November");
    expect(utc(at)).toBe("2026-11-17 02:07:24 UTC");
  });
  it("names the day only when it is not today, in that zone", () => {
    expect(when(at, now, zone)).toBe("03:07:24");
    expect(when("2026-11-16T22:30:00Z", "2026-11-16T23:30:00Z", zone)).toBe("Mon 16 Nov 23:30:00");
    expect(when(null)).toBe("–");
  });
  it("is relative below a day", () => {
    expect(ago(at, now, zone)).toBe("4\u00a0min ago");
    expect(ago("2026-11-17T00:00:00Z", now, zone)).toBe("2\u00a0h ago");
    expect(ago("2026-11-15T22:18:00Z", now, zone)).toBe("Sun 15 Nov 23:18");
    expect(ago(now, now, zone)).toBe("now");
  });
  it("names the zone with its offset", () => {
    expect(zoneLabel(at, zone)).toMatch(/UTC\+1$/);
    expect(zoneLabel(at, "UTC")).toBe("UTC");
  });
  it("reads instants of the API and seconds alike", () => {
    expect(epoch(at)).toBe(Date.parse(at) / 1000);
    expect(epoch(12)).toBe(12);
    expect(epoch("nonsense")).toBeNull();
  });
});
