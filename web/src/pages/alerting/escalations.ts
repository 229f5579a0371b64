import type { Schemas } from "../../api/client";
import { list, plural, span } from "../../lib/format";

type Escalation = Schemas["Escalation"];

/** The form of a policy, in minutes. */
export interface EscalationValues {
  name: string;
  steps: { key: number; minutes: number | ""; channels: string[] }[];
  loops: number | "";
  ackMinutes: number | "";
  reminds: boolean;
  reminderMinutes: number | "";
}

export function valuesOf(of?: Escalation): EscalationValues {
  return {
    name: of?.name ?? "",
    steps: of
      ? of.steps.map((step, key) => ({ key, minutes: step.after_s / 60, channels: [...step.channels] }))
      : [
          { key: 0, minutes: 0, channels: [] },
          { key: 1, minutes: 10, channels: [] },
          { key: 2, minutes: 30, channels: [] },
        ],
    loops: of?.loops ?? 2,
    ackMinutes: (of?.ack_timeout_s ?? 14_400) / 60,
    reminds: of ? of.reminder_s !== null && of.reminder_s !== undefined : true,
    reminderMinutes: (of?.reminder_s ?? 3_600) / 60,
  };
}

/** One more step, ten minutes after the last. */
export function freshStep(steps: EscalationValues["steps"]): EscalationValues["steps"][number] {
  const last = steps[steps.length - 1];
  const key = Math.max(-1, ...steps.map((step) => step.key)) + 1;
  return { key, minutes: last && last.minutes !== "" ? last.minutes + 10 : 0, channels: [] };
}

const seconds = (minutes: number | "") => Math.round((minutes === "" ? 0 : minutes) * 60);

export function bodyOf(v: EscalationValues) {
  return {
    name: v.name.trim(),
    steps: v.steps.map((step) => ({ after_s: seconds(step.minutes), channels: step.channels })),
    loops: v.loops === "" ? 2 : v.loops,
    ack_timeout_s: seconds(v.ackMinutes),
    reminder_s: v.reminds ? seconds(v.reminderMinutes) : null,
  };
}

/** `at once chat, after 10 min phone; twice` */
export function stepsInWords(of: Escalation, names: ReadonlyMap<string, string>): string {
  const steps = of.steps.map((step) => {
    const told = list(step.channels.map((id) => names.get(id) ?? "a deleted channel"));
    return `${step.after_s === 0 ? "at once" : `after ${span(step.after_s)}`} ${told}`;
  });
  return `${steps.join(", ")}${(of.loops ?? 2) > 1 ? `; ${plural(of.loops ?? 2, "round")}` : ""}`;
}
