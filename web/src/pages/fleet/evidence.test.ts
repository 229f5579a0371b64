import { expect, test } from "vitest";
import { evidenceRows } from "./evidence";

test("evidence becomes rows with words and units; what says nothing is left out", () => {
  const rows = evidenceRows({
    attempts: 3180,
    share: 0.19339,
    p: 3e-9,
    times_expected: 32.2,
    peers_p90_ms: 166,
    window_s: 60,
    faults: { status_5xx: 41, timeout: 0 },
    routes: [{ route: "GET /cart", attempts: 91, bad: 18, peers_bad: 0 }],
    common: { version: "2" },
    wrong_code: true,
    none: null,
    empty: [],
  });
  expect(rows.map(([name, value]) => `${name}: ${value}`.replaceAll("\u00a0", " "))).toEqual([
    "attempts: 3,180",
    "share of them: 19.3 %",
    "chance of that: < 1 in a million",
    "as many as expected: × 32",
    "peers’ p90: 166 ms",
    "length of a window: 1 min 00 s",
    "how they failed: 5xx 41",
    "bad attempts by route: GET /cart: attempts 91, bad attempts 18",
    "common: version 2",
    "wrong code: yes",
  ]);
  expect(evidenceRows(null)).toEqual([]);
});
