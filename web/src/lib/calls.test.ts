import { expect, test } from "vitest";
import { callsInWords, lanesOf, ticksOf, withChannels } from "./calls";

const plan = (more: object = {}) => ({
  steps: [
    { after_s: 0, channels: ["chat"] },
    { after_s: 600, channels: ["phone"] },
    { after_s: 1800, channels: ["boss", "chat"] },
  ],
  loops: 2,
  reminder_s: 3600,
  ...more,
});

test("each channel hears its steps in every round, and reminders once it knows", () => {
  const { lanes, end } = lanesOf(plan());
  expect(end).toBe(5400);
  expect(lanes.map((lane) => [lane.name, ...lane.calls.map((call) => `${call.at} ${call.kind}`)])).toEqual([
    ["chat", "0 first", "1800 again", "3600 again", "5400 again"],
    ["phone", "600 first", "3600 reminder", "4200 again"],
    ["boss", "1800 first", "3600 reminder", "5400 again"],
  ]);
});

test("without reminders there are none, and a late one is shown all the same", () => {
  expect(
    lanesOf(plan({ reminder_s: null }))
      .lanes.flatMap((lane) => lane.calls)
      .map((call) => call.kind),
  ).not.toContain("reminder");
  const once = { steps: [{ after_s: 0, channels: ["chat"] }], loops: 1, reminder_s: 86_400 };
  expect(lanesOf(once)).toEqual({
    lanes: [
      {
        name: "chat",
        calls: [
          { at: 0, kind: "first" },
          { at: 86_400, kind: "reminder" },
        ],
      },
    ],
    end: 86_400,
  });
  expect(lanesOf({ steps: [], loops: 1, reminder_s: null })).toEqual({ lanes: [], end: 0 });
});

test("after the 24th, reminders are daily", () => {
  const late = {
    steps: [
      { after_s: 0, channels: ["chat"] },
      { after_s: 86_400, channels: ["boss"] },
    ],
    loops: 1,
    reminder_s: 300,
  };
  const chat = lanesOf(late).lanes[0]?.calls ?? [];
  expect(chat.length).toBe(25);
  expect(chat[24]?.at).toBe(7200);
});

test("the axis has round steps, five at most", () => {
  expect(ticksOf(1800)).toEqual([0, 600, 1200, 1800]);
  expect(ticksOf(5400)).toEqual([0, 1800, 3600, 5400]);
  expect(ticksOf(86_400)).toEqual([0, 21_600, 43_200, 64_800, 86_400]);
  expect(ticksOf(0)).toEqual([0]);
});

test("it is told in words, moment by moment", () => {
  expect(callsInWords(lanesOf(plan()).lanes)).toEqual([
    "At once: chat.",
    "After 10\u00a0min: phone.",
    "After 30\u00a0min: boss; chat again.",
    "After 1\u00a0h: chat again; a reminder to phone and boss.",
    "After 70\u00a0min: phone again.",
    "After 90\u00a0min: chat and boss again.",
  ]);
});

test("channels beside the steps are told at once, each once", () => {
  const beside = withChannels(plan(), ["mail", "chat"]).steps;
  expect(beside.map((step) => step.channels)).toEqual([["chat", "mail"], ["phone"], ["boss", "chat"]]);
  const late = withChannels({ ...plan(), steps: [{ after_s: 60, channels: ["boss"] }] }, ["mail"]).steps;
  expect(late).toEqual([
    { after_s: 0, channels: ["mail"] },
    { after_s: 60, channels: ["boss"] },
  ]);
  expect(withChannels(plan(), [])).toEqual(plan());
});
