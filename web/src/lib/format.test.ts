import { describe, expect, it } from "vitest";
import { availability, bytes, count, duration, list, millis, odds, offset, percent, plural, span } from "./format";

const N = "\u00a0";

describe("numbers and units", () => {
  it("puts a no-break space before every unit", () => {
    expect(millis(1310)).toBe(`1,310${N}ms`);
    expect(millis(0.42)).toBe(`0.4${N}ms`);
    expect(millis(38.4)).toBe(`38${N}ms`);
    expect(plural(1, "location")).toBe(`1${N}location`);
    expect(plural(1204, "pass", "passes")).toBe(`1,204${N}passes`);
    expect(bytes(412)).toBe(`412${N}bytes`);
    expect(bytes(1536)).toBe(`1.5${N}KiB`);
    expect(offset(-8)).toBe(`−8${N}ms`);
    expect(offset(400)).toBe(`+0.4${N}s`);
    expect(count(12345)).toBe("12,345");
  });
  it("says when there is no data", () => {
    for (const text of [millis(null), duration(undefined), percent(null), odds(null), availability(null, null)])
      expect(text).toBe("–");
  });
  it("joins words", () => {
    expect(list([])).toBe("");
    expect(list(["fra", "ams", "iad"])).toBe("fra, ams and iad");
  });
});

describe("spans", () => {
  it("uses the two largest units", () => {
    expect(duration(282)).toBe(`4${N}min 42${N}s`);
    expect(duration(540)).toBe(`9${N}min 00${N}s`);
    expect(duration(7500)).toBe(`2${N}h 05${N}min`);
    expect(duration(273_600)).toBe(`3${N}d 04${N}h`);
    expect(duration(59.9)).toBe(`59${N}s`);
    expect(duration(0.25)).toBe(`0.2${N}s`);
    expect(duration(-3)).toBe(`0${N}s`);
  });
  it("writes settings without empty parts", () => {
    expect(span(60)).toBe(`60${N}s`);
    expect(span(300)).toBe(`5${N}min`);
    expect(span(90)).toBe(`90${N}s`);
    expect(span(3600)).toBe(`1${N}h`);
    expect(span(0.5)).toBe(`0.5${N}s`);
  });
});

describe("percentages", () => {
  it("floors, so that nothing reads better than it was", () => {
    expect(percent(0.9999999)).toBe(`99.999${N}%`);
    expect(percent(1)).toBe(`100.000${N}%`);
    expect(percent(0.99938)).toBe(`99.938${N}%`);
    expect(percent(0.5, 0)).toBe(`50${N}%`);
  });
  it("shows unknown time as reach", () => {
    expect(availability(0.99944, 0.99944)).toBe(`99.944${N}%`);
    expect(availability(0.998, 1)).toBe(`99.9${N}%${N}±${N}0.1`);
  });
});

describe("odds", () => {
  it("picks the unit that reads best", () => {
    expect(odds(43)).toBe(`43 a${N}month`);
    expect(odds(1.7)).toBe(`1.7 a${N}month`);
    expect(odds(1 / 23)).toBe(`1 in 23${N}months`);
    expect(odds(1 / (9.6 * 12))).toBe(`1 in 9.6${N}years`);
    expect(odds(0)).toBe("never");
  });
});
