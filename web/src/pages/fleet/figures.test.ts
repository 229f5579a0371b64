import { describe, expect, test } from "vitest";
import { figuresOf, oddsOf } from "./figures";

const instances = Array.from({ length: 8 }, (_, i) => ({
  instance: `web-${i + 1}`,
  attempts: 3000,
  errors: i === 2 ? 612 : 10,
  rescued: i === 2 ? 565 : 10,
}));
const now = { ready: 8, in_rotation: 8, expected: 8, min_ready: 6 };
const plain = (text: string) => text.replaceAll("\u00a0", " ");
const told = (finding: object, here = now) =>
  figuresOf({ from: "2026-11-30T14:20:00Z", scope: "one", ...finding } as never, instances, here, 900).map((f) =>
    plain(`${f.value}: ${f.means}`),
  );

describe("the numbers of a finding", () => {
  test("one instance: chance, speed, harm, and what the others would carry", () => {
    const evidence = {
      p: 3e-9,
      windows_of_last_3: 3,
      window_s: 60,
      p90_ms: 64,
      peers_p90_ms: 166,
      bad: 41,
      bad_so_far: 612,
    };
    const all = told({ kind: "errors", instances: ["web-3"], evidence });
    expect(all).toHaveLength(4);
    expect(all[0]).toBe("< 1 in a million: that chance alone does this; 3 of the last 3 minutes");
    expect(all[1]).toBe("64 ms: p90, 0.4 × its peers: it fails before doing the work");
    expect(all[2]).toMatch(
      /^612: attempts failed since \d\d:20; of 612 in the last 15 minutes 47 reached users, a retry saved 565$/,
    );
    expect(all[3]).toBe("× 1.14: load on each other one if web-3 is taken out: 8 / 7");
  });

  test("a shared cause names how many, the route and its code, and takes nobody out", () => {
    const evidence = {
      elevated: 6,
      instances: 6,
      bad: 274,
      bad_so_far: 4110,
      routes: [{ route: "POST /checkout", attempts: 420, bad: 263 }],
      codes: { 500: 11, 504: 263 },
      p90_ms: 3010,
      usual_p90_ms: 170,
    };
    const all = told({ kind: "errors", scope: "shared", instances: [], evidence });
    expect(all[0]).toBe("6 of 6: instances are worse than usual for them; 3 are enough to suspect a shared cause");
    expect(all[1]).toBe("62 %: of POST /checkout fails, mostly with 504; 95 % of all that fails");
    expect(all[2]).toBe("3,010 ms: p90, 18 × what is usual");
    expect(all).toHaveLength(4);
  });

  test("few ready: how many, and what each of the rest carries", () => {
    const all = told(
      { kind: "few_ready", scope: "pool", instances: [], evidence: {} },
      { ready: 9, in_rotation: 9, expected: 12, min_ready: 8 },
    );
    expect(all).toEqual(["9 of 12: ready; fewer than 8 is critical", "× 1.33: load on each that is left: 12 / 9"]);
  });

  test("what is not known is left out", () => {
    expect(told({ kind: "restart", instances: [], evidence: null })).toEqual([]);
  });

  test("odds keep two figures", () => {
    expect(oddsOf(1e-7)).toBe("< 1 in a million");
    expect(oddsOf(1 / 23_456)).toBe("1 in 23,000");
    expect(oddsOf(1)).toBe("1 in 1");
  });
});
