import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { divergentNote, endedWords, locationsSentence, overCap, reviewNote } from "./words";

type Location = Schemas["Location"];

const agent = { online: true, last_seen_at: "2026-11-29T12:00:00Z" };

function location(name: string, more: Partial<Location> = {}): Location {
  return {
    id: name,
    name,
    region: name,
    domain: name,
    enabled: true,
    simulated: false,
    health: "online",
    agents: [agent],
    references: [],
    dissents: [],
    dissent_count: 0,
    divergent: [],
    ...more,
  } as unknown as Location;
}

const doubt = { reasons: ["3 of 3 references fail"] } as unknown as Location["doubt"];

describe("the sentence of the locations page", () => {
  it("says first whom not to believe, and why", () => {
    const all = [
      location("eu"),
      location("us", { health: "quarantined", doubt }),
      location("ap", { health: "offline" }),
    ];
    expect(locationsSentence(all, 0)).toBe("us is quarantined, so its votes do not count: 3 of 3 references fail.");
    const hand = [location("eu"), location("us", { health: "distrusted" })];
    expect(locationsSentence(hand, 0)).toBe("us is not believed, by hand: its votes do not count.");
  });

  it("says when too many are in doubt, so that nobody is set aside", () => {
    const all = [
      location("eu"),
      location("us", { health: "impaired", doubt }),
      location("ap", { health: "impaired", doubt }),
    ];
    expect(locationsSentence(all, 0)).toContain("Nobody is quarantined: us and ap are in doubt");
    expect(overCap(all)).toContain("locations online at most 1 may be set aside");
    expect(overCap([location("eu"), location("us", { health: "quarantined", doubt })])).toBeNull();
    const believed = location("us", { health: "impaired", doubt, trust: { kind: "believe" } as Location["trust"] });
    expect(overCap([location("eu"), believed])).toBeNull();
  });

  it("names the monitors on which a single vote is set aside", () => {
    const one = { monitor: "m", name: "partner-api", since: "1970-01-01T00:00:00Z" };
    expect(divergentNote([location("eu"), location("sin", { divergent: [one] })], 42 * 3600)).toContain(
      "sin disagrees alone on partner-api; its vote there is set aside for",
    );
    expect(divergentNote([location("eu")], 0)).toBeNull();
  });
});

describe("what is looked into, and what was", () => {
  it("names those under review", () => {
    const since = "2026-11-29T12:00:00Z";
    expect(reviewNote([location("eu"), location("us")])).toBeNull();
    expect(reviewNote([location("eu"), location("us", { review_since: since })])).toMatch(/^us is under review: /);
    const both = [location("eu", { review_since: since }), location("us", { review_since: since })];
    expect(reviewNote(both)).toMatch(/^eu and us are under review: .* their own network/);
  });

  it("says how a quarantine ended", () => {
    expect(endedWords({ until: null, released: null })).toBe("it goes on");
    expect(endedWords({ until: "2026-11-29T12:00:00Z", released: "clean" })).toBe("nothing more was found");
    expect(endedWords({ until: "2026-11-29T12:00:00Z", released: "something new" })).toBe("it ended");
  });
});
