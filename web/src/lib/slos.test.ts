import { describe, expect, it } from "vitest";
import type { Schemas } from "../api/client";
import { aboutOf, amount, lasting, leftShare, ofWindow, slosSentence, sloMark, sloWord, windowWords } from "./slos";

const NB = "\u00a0";
const slo = (name: string, state: string | null) =>
  ({ name, now: state === null ? null : { state } }) as Schemas["Slo"];

describe("amounts of budget", () => {
  it("are never more than is left", () => {
    expect(amount(1_203_999, "ms")).toBe(`20${NB}min 03${NB}s`);
    expect(amount(47_499, "ms")).toBe(`47.4${NB}s`);
    expect(amount(-1_200, "ms")).toBe(`−1.2${NB}s`);
    expect(amount(-1, "ms")).toBe(`−1${NB}ms`);
    expect(amount(3.9, "events")).toBe(`3${NB}events`);
    expect(amount(-0.5, "events")).toBe(`−1${NB}event`);
    expect(amount(null, "ms")).toBe("–");
  });
  it("keep a decimal only where whole seconds would hide something", () => {
    expect(lasting(0)).toBe(`0${NB}s`);
    expect(lasting(12_000)).toBe(`12${NB}s`);
    expect(lasting(12_345)).toBe(`12.3${NB}s`);
    expect(lasting(61_999)).toBe(`1${NB}min 01${NB}s`);
  });
  it("have a share that is cut off towards less", () => {
    expect(leftShare(0.46599)).toBe(`46.5${NB}%`);
    expect(leftShare(-0.00044)).toBe(`−0.1${NB}%`);
    expect(leftShare(null)).toBe("–");
  });
});

describe("an SLO in words", () => {
  it("never looks well when its state is not known here", () => {
    expect(sloMark("something new")).toBe("unknown");
    expect(sloWord("something new")).toBe("something new");
    expect(sloMark(null)).toBe("pending");
  });
  it("names its window", () => {
    const rolling = { kind: "rolling", duration: "30d", timezone: "UTC" };
    const month = { kind: "calendar", duration: "1M", timezone: "Europe/Berlin" };
    expect(ofWindow(rolling)).toBe(`any 30${NB}days`);
    expect(ofWindow(month)).toBe("a calendar month, Europe/Berlin");
    expect(windowWords(month, false)).toBe("calendar month");
  });
  it("says what it is about, also when that was deleted", () => {
    const base = { monitor: null, fleet: null, members: [] };
    expect(aboutOf({ ...base, subject: "monitor" })).toEqual([{ word: "a deleted monitor", to: null }]);
    expect(aboutOf({ ...base, subject: "fleet", fleet: { id: "f", name: "shop" } })[0]?.to).toBe("/fleets/f");
  });
});

describe("the sentence over the list", () => {
  it("names what burns and what is missed", () => {
    const items = [slo("checkout", "burning"), slo("search", "breached"), slo("assets", "ok")];
    expect(slosSentence(items, true)).toBe("checkout is burning and search is missed.");
  });
  it("begins with a capital where it does not begin with a name", () => {
    expect(slosSentence([slo("a", "no_data")], true)).toBe("Of a too little is known.");
  });
  it("does not call on track what was not judged", () => {
    expect(slosSentence([slo("a", null)], true)).toBe("Not judged yet.");
    expect(slosSentence([slo("a", "ok"), slo("b", null)], true)).toBe("Those that were judged are on track.");
    expect(slosSentence([slo("a", "ok")], true)).toBe("Every SLO is on track.");
  });
});
