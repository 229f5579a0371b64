import { describe, expect, it } from "vitest";
import {
  along,
  certificatesSentence,
  leftWords,
  markOfCertificate,
  namesWords,
  parseDays,
  renewalWords,
  seenWords,
  viewOf,
  viewQuery,
} from "./certificates";
import { NBSP } from "./format";

const plain = (text: string) => text.replaceAll(NBSP, " ");

describe("certificates in words", () => {
  it("counts days toward sooner, to the end and beyond", () => {
    expect([40, 1, 0, -1, -2, -31].map((days) => plain(leftWords(days)))).toEqual([
      "40 d",
      "1 d",
      "less than 1 d",
      "ended today",
      "ended 1 d ago",
      "ended 30 d ago",
    ]);
  });
  it("marks what fails before what differs before what is due", () => {
    const one = { days_left: 90, valid: true, certificates: 1, renewed_days_left: null };
    expect(markOfCertificate(one)).toBe("up");
    expect(markOfCertificate({ ...one, days_left: 30 })).toBe("degraded");
    expect(markOfCertificate({ ...one, days_left: 30, certificates: 2 })).toBe("partial");
    expect(markOfCertificate({ ...one, days_left: 7, certificates: 2 })).toBe("down");
    expect(markOfCertificate({ ...one, valid: false })).toBe("down");
    expect(markOfCertificate({ ...one, days_left: 40, renewed_days_left: 60 })).toBe("degraded");
  });
  it("knows when it is late by its own habit", () => {
    const said = (days_left: number, renewed_days_left: number | null) =>
      plain(renewalWords({ days_left, renewed_days_left }));
    expect([said(5, 29), said(29, 29), said(31, 29), said(9, null), said(-1, 29)]).toEqual([
      "24 d late by its own habit",
      "due today",
      "due in 2 d",
      "–",
      "too late",
    ]);
  });
  it("names a few and counts the rest", () => {
    expect(namesWords({ names: ["a", "b", "c", "d"], subject: "CN=x" })).toBe("a, b and 2 more");
    expect(namesWords({ names: [], subject: "CN=x" })).toBe("CN=x");
    const by = (id: string, address: string | null) => ({
      location: { id, name: id, region: "", domain: "", simulated: false },
      address,
      since: "",
      last_seen_at: "",
    });
    const seen_by = [by("eu", "192.0.2.7"), by("eu", "192.0.2.8"), by("us", null)];
    expect(plain(seenWords({ seen_by, locations: 5 }))).toBe("2 of 5 locations");
  });
  it("says the worst in the page's sentence", () => {
    const none = { certificates: 9, monitors: 9, expired: 0, within_7: 0, within_30: 0, invalid: 0, differing: 0 };
    const said = (change: Partial<typeof none>) => plain(certificatesSentence({ ...none, ...change }));
    expect(said({ certificates: 0 })).toBe("No certificate is shown yet.");
    expect(said({})).toBe("No certificate ends within 30 days.");
    expect(said({ within_30: 3 })).toBe("3 certificates end within 30 days.");
    expect(said({ within_7: 1, within_30: 3 })).toBe("1 certificate ends within 7 days.");
    expect(said({ expired: 2, within_7: 1, within_30: 1 })).toBe(
      "2 certificates have ended, and 1 ends within 7 days.",
    );
    expect(said({ differing: 1 })).toBe(
      "No certificate ends within 30 days. 1 monitor is shown different ones in different places.",
    );
  });
});

describe("the list's address and axis", () => {
  it("knows its views", () => {
    expect([viewOf("7"), viewOf("nonsense")]).toEqual(["7", null]);
    expect([viewQuery("30"), viewQuery("invalid"), viewQuery("differing"), viewQuery(null)]).toEqual([
      { within: 30 },
      { invalid: true },
      { differing: true },
      {},
    ]);
  });
  it("gives the last days more room", () => {
    expect(along(-3)).toBe(0);
    expect(along(9_999)).toBe(1);
    expect(along(7)).toBeGreaterThan(7 / 398);
  });
});

describe("days as they are typed", () => {
  it("reads lists and refuses anything else", () => {
    expect(parseDays("30, 14 7,,1")).toEqual([30, 14, 7, 1]);
    expect(parseDays(" ")).toEqual([]);
    expect(parseDays("30 days")).toBeNull();
    expect(parseDays("1.5")).toBeNull();
  });
});
