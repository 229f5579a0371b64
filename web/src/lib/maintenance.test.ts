import { expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { bodyOf, draftOf, emptyDraft, fieldOfInstant, instantOfField, untilOf } from "../pages/maintenanceform/draft";
import { effectWords, inOrder } from "../pages/maintenance/EntryTable";
import { heardOf } from "../pages/maintenance/quiet";
import { linesOf, midnights, WEEKS } from "../pages/maintenance/calendar";
import { maintenanceSentence, scopeWords, spanWords, whenWords } from "./maintenance";

const NOW = Date.parse("2026-11-17T02:12:06Z") / 1000;

const plan: Schemas["Maintenance"] = {
  id: "p",
  name: "nightly backup",
  kind: "planned",
  reason: "",
  start: "2026-11-18T01:00:00Z",
  end: "2026-11-18T01:30:00Z",
  phase: "planned",
  cron: "0 2 * * 1-5",
  timezone: "Europe/Berlin",
  duration_s: 1800,
  until: "2026-12-24T23:00:00Z",
  paused: false,
  next: [],
  monitors: [],
  groups: ["platform"],
  labels: null,
  covers: 13,
  fleets: null,
  locations: null,
  suppress_alerts: true,
  exclude_from_slo: false,
  pause_probes: false,
  revision: 3,
  declared_at: "2026-11-13T10:00:00Z",
  declared_by: "pk",
};

const names = { monitors: new Map([["m", "reports"]]), fleets: new Map(), locations: new Map([["s", "syd"]]) };

test("a plan and what it covers in words", () => {
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  expect(whenWords({ ...plan, timezone: here }, NOW)).toBe("Monday to Friday at 02:00, 30\u00a0min");
  const there = whenWords({ ...plan, timezone: "Asia/Tokyo" }, NOW);
  expect(there).toBe("Monday to Friday at 02:00 in Asia/Tokyo, 30\u00a0min");
  expect(scopeWords(plan, names)).toBe("group platform, 13\u00a0monitors");
  expect(scopeWords({ ...plan, monitors: null, groups: null, covers: null }, names)).toBe("everything");
  const seen = { ...plan, monitors: ["m"], groups: null, locations: ["s"] };
  expect(scopeWords(seen, names)).toBe("reports, only what syd saw");
  expect(scopeWords({ ...seen, monitors: ["m", "unknown"], locations: null }, names)).toBe("2\u00a0monitors");
});

test("a span names its second day when it is another one", () => {
  const at = (text: string) => Date.parse(text) / 1000;
  const [start, end] = [at("2026-11-17T22:30:00Z"), at("2026-11-18T00:30:00Z")];
  expect(spanWords(start, end, NOW, "UTC")).toBe("Tue 17 Nov 22:30–Wed 18 Nov 00:30");
  expect(spanWords(start, end, NOW, "Europe/Berlin")).toBe("Tue 17 Nov 23:30–Wed 18 Nov 01:30");
  expect(spanWords(start, end, NOW, "Asia/Tokyo")).toBe("Wed 18 Nov 07:30–09:30");
});

test("the sentence says what is silent now, and what is next", () => {
  expect(maintenanceSentence([], NOW)).toBe("None planned.");
  const one = (phase: "running" | "planned", name: string, suppress_alerts = true) =>
    ({
      phase,
      name,
      kind: "planned",
      start: plan.start,
      end: plan.end,
      suppress_alerts,
    }) as Schemas["MaintenanceOccurrence"];
  expect(maintenanceSentence([one("planned", "release")], NOW)).toMatch(/^Nothing is in maintenance\. Next: release, /);
  expect(maintenanceSentence([one("running", "a")], NOW)).toMatch(/^a keeps alerts silent until /);
  expect(maintenanceSentence([one("running", "a"), one("running", "b")], NOW)).toMatch(/^a and b keep alerts silent/);
  expect(maintenanceSentence([one("running", "a", false)], NOW)).toMatch(/^a is in maintenance, with alerts, until/);
});

test("a plan opens in the form as it was, and goes back the same", () => {
  const draft = draftOf(plan, "UTC", NOW);
  expect([draft.repeat, draft.time, draft.weekdays.length, draft.until]).toEqual(["weekly", "02:00", 5, "2026-12-24"]);
  const body = bodyOf(draft);
  expect(body).toMatchObject({ cron: "0 2 * * 1,2,3,4,5", timezone: "Europe/Berlin", duration_s: 1800, start: null });
  expect(Date.parse(body.until ?? "")).toBe(Date.parse(plan.until ?? ""));
  expect(body).toMatchObject({ monitors: null, groups: ["platform"], exclude_from_slo: false });
});

test("beside locations, and in a correction, switches are not a choice", () => {
  const draft = { ...emptyDraft("UTC", NOW, false), monitors: ["m"] };
  expect(bodyOf({ ...draft, locations: ["s"] }).suppress_alerts).toBeNull();
  expect(bodyOf({ ...draft, kind: "correction" }).pause_probes).toBeNull();
  expect(bodyOf(draft)).toMatchObject({ suppress_alerts: true, cron: null, paused: null });
});

test("fields of date and time are on the clocks of the zone, also when these change", () => {
  for (const at of ["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", "2026-10-25T03:00:00Z", "2026-07-01T12:00:00Z"]) {
    const field = fieldOfInstant(Date.parse(at) / 1000, "Europe/Berlin");
    expect(Date.parse(instantOfField(field, "Europe/Berlin") ?? ""), field).toBe(Date.parse(at));
  }
  // 02:30 does not exist on that day: as far behind the gap as it was into it.
  expect(instantOfField("2026-03-29T02:30", "Europe/Berlin")).toBe("2026-03-29T01:30:00.000Z");
  // What comes twice is the first time.
  expect(instantOfField("2026-10-25T02:30", "Europe/Berlin")).toBe("2026-10-25T00:30:00.000Z");
  expect(instantOfField("", "UTC")).toBeNull();
  const draft = { ...emptyDraft("Europe/Berlin", NOW, false), until: "2026-10-24" };
  expect(untilOf(draft)).toBe("2026-10-24T22:00:00.000Z");
});

test("the calendar begins on a Monday and has whole days, whatever clocks do", () => {
  const days = midnights(Date.parse("2026-10-21T10:00:00Z") / 1000, "Europe/Berlin");
  expect(days.length).toBe(WEEKS * 7 + 1);
  expect(new Date((days[0] ?? 0) * 1000).toISOString()).toBe("2026-10-18T22:00:00.000Z");
  const lengths = days.slice(1).map((at, i) => (at - (days[i] ?? 0)) / 3600);
  expect(lengths.filter((hours) => hours === 25)).toHaveLength(1);
  expect(lengths.filter((hours) => hours === 24)).toHaveLength(34);
});

test("the calendar has a line for each window and plan", () => {
  const one = (maintenance: string, start: string, end: string) =>
    ({
      maintenance,
      name: maintenance,
      start,
      end,
      phase: "planned",
      kind: "planned",
    }) as Schemas["MaintenanceOccurrence"];
  const all = [
    one("p", "2026-11-18T01:00:00Z", "2026-11-18T01:30:00Z"),
    one("q", "2026-11-18T02:00:00Z", "2026-11-18T03:00:00Z"),
    one("p", "2026-11-19T01:00:00Z", "2026-11-19T01:30:00Z"),
  ];
  const lines = linesOf(all, [plan], NOW, NOW + 7 * 86_400);
  expect(lines.map((line) => [line.name, line.bars.length, line.entry?.name])).toEqual([
    ["p", 2, "nightly backup"],
    ["q", 1, undefined],
  ]);
});

test("what was silenced, and what was told when it was over", () => {
  const occurrence = (start: string, end: string, more = {}) =>
    ({
      ...{ maintenance: start, name: "n", kind: "planned", phase: "past", suppress_alerts: true, monitors: ["m"] },
      ...{ start, end, ...more },
    }) as Schemas["MaintenanceOccurrence"];
  const incident = (id: string, started_at: string, suppressed: boolean, monitor = "m") =>
    ({ id, started_at, suppressed, monitor: { id: monitor } }) as Schemas["IncidentRow"];
  const rows = heardOf(
    [
      occurrence("2026-11-01T02:00:00Z", "2026-11-01T03:00:00Z"),
      occurrence("2026-11-02T02:00:00Z", "2026-11-02T03:00:00Z", { monitors: null }),
      occurrence("2026-11-03T02:00:00Z", "2026-11-03T03:00:00Z", { suppress_alerts: false }),
      occurrence("2026-11-30T02:00:00Z", "2026-11-30T03:00:00Z", { phase: "planned" }),
    ],
    [
      incident("a", "2026-11-01T02:10:00Z", true),
      incident("b", "2026-11-01T03:00:00Z", false),
      incident("c", "2026-11-01T02:20:00Z", true, "other"),
      incident("d", "2026-11-02T02:20:00Z", true, "other"),
      incident("e", "2026-11-02T02:30:00Z", false, "other"),
    ],
  );
  const ids = rows.map((row) => [row.silenced.map((i) => i.id).join(), row.after.map((i) => i.id).join()]);
  expect(ids).toEqual([
    ["d", ""],
    ["a", "b"],
  ]);
});

test("what a plan does to a budget in words", () => {
  const effect = {
    ...{ slo: { id: "s", name: "checkout" }, window_start: "", window_end: "", rolling: false },
    ...{ window_ms: 2_592_000_000, occurrences: 2, left_out_ms: 7_200_000, to_come_ms: 3_600_000 },
    ...{ budget_ms: 2_592_000, budget_left_ms: 2_584_800, longest_of_budget: 1.39 },
  };
  const plain = (text: string) => text.replaceAll("\u00a0", " ");
  expect(plain(effectWords(effect))).toBe(
    "2 windows leave out 2 h of 30 d; its budget shrinks by 7 s, from 43 min 12 s to 43 min 04 s. Were the longest one counted, and spent down, it would use 139 % of the budget",
  );
  expect(effectWords({ ...effect, occurrences: 0 })).toBe("nothing in its present window");
});

test("what runs stands first, then what comes next", () => {
  const one = (id: string, phase: "running" | "planned" | "paused", start: string) => ({ ...plan, id, phase, start });
  const all = [
    one("c", "planned", "2026-11-20T00:00:00Z"),
    one("d", "paused", "2026-11-01T00:00:00Z"),
    one("b", "planned", "2026-11-19T00:00:00Z"),
    one("a", "running", "2026-11-21T00:00:00Z"),
  ];
  expect(inOrder(all).map((entry) => entry.id)).toEqual(["a", "b", "c", "d"]);
});
