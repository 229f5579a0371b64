import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { bodyOf, freshStep, stepsInWords, valuesOf } from "./escalations";

const saved = {
  id: "e",
  name: "on call",
  steps: [
    { after_s: 0, channels: ["a"] },
    { after_s: 90, channels: ["b", "c"] },
  ],
  loops: 2,
  ack_timeout_s: 14_400,
  reminder_s: null,
} as unknown as Schemas["Escalation"];

describe("escalations", () => {
  it("go through the form unchanged", () => {
    const { name, steps, loops, ack_timeout_s, reminder_s } = saved;
    expect(bodyOf(valuesOf(saved))).toEqual({ name, steps, loops, ack_timeout_s, reminder_s });
  });

  it("begin with steps at 0, 10 and 30 min", () => {
    expect(bodyOf(valuesOf()).steps.map((step) => step.after_s)).toEqual([0, 600, 1800]);
    expect(freshStep(valuesOf().steps)).toEqual({ key: 3, minutes: 40, channels: [] });
  });

  it("are told in words", () => {
    const names = new Map([
      ["a", "chat"],
      ["b", "phone"],
    ]);
    expect(stepsInWords(saved, names)).toBe("at once chat, after 90\u00a0s phone and a deleted channel; 2\u00a0rounds");
  });
});
