/** What the form of a schedule holds, and how it becomes what the API takes. */

import type { Schemas } from "../../api/client";

export interface Draft {
  name: string;
  customer: string;
  slos: string[];
  cron: string;
  timezone: string;
  channel: string;
  enabled: boolean;
}

/** Common times; the first is what a new schedule starts from. */
export const presets: readonly { value: string; label: string }[] = [
  { value: "0 8 4 * *", label: "Monthly, on the 4th at 08:00" },
  { value: "0 8 1 * *", label: "Monthly, on the 1st at 08:00" },
  { value: "0 8 * * 1", label: "Weekly, on Monday at 08:00" },
  { value: "0 8 4 1,4,7,10 *", label: "Quarterly, on the 4th at 08:00" },
];

/** The word for an expression that is no preset. */
export const OWN = "own";

export function presetOf(cron: string): string {
  const plain = cron.trim().replace(/\s+/g, " ");
  return presets.find((one) => one.value === plain)?.value ?? OWN;
}

/** What the fields are called where drafts are compared. */
export const labels: { readonly [K in keyof Draft]: string } = {
  name: "Name",
  customer: "For whom",
  slos: "SLOs",
  cron: "When",
  timezone: "Time zone",
  channel: "Through",
  enabled: "Switched on",
};

export function emptyDraft(zone: string, slos: string[]): Draft {
  const [first] = presets;
  return {
    name: "",
    customer: "",
    slos,
    cron: first?.value ?? "",
    timezone: zone,
    channel: "",
    enabled: true,
  };
}

export function draftOf(schedule: Schemas["ReportSchedule"]): Draft {
  return {
    name: schedule.name,
    customer: schedule.customer,
    slos: schedule.slos.map((slo) => slo.id),
    cron: schedule.cron,
    timezone: schedule.timezone,
    channel: schedule.channel,
    enabled: schedule.enabled,
  };
}

export function bodyOf(d: Draft): Schemas["NewReportSchedule"] {
  return { ...d, name: d.name.trim(), customer: d.customer.trim(), cron: d.cron.trim() };
}

/** The form's field for the API's; null when the form has none. */
export function fieldOf(field: string): keyof Draft | null {
  if (field.startsWith("slos")) return "slos";
  return field in labels ? (field as keyof Draft) : null;
}
