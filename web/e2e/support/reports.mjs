// The life of a schedule of reports in the browser: made, sent at once, switched off, deleted.
import assert from "node:assert/strict";
import { until } from "./browser.mjs";

/** Makes one of the SLO `till-availability` through the channel `mail ops`, and has it sent. */
export async function makeReports({ page, quorate, step, out, mail, sloUrl }) {
  step("a schedule of reports is made: a time that never comes is refused as one types");
  await page.goto(`${quorate.url}/reports`);
  await page.getByRole("heading", { level: 1, name: "No report is sent by itself." }).waitFor();
  await page.getByRole("link", { name: "Add a schedule" }).click();
  await page.getByLabel("Name", { exact: true }).fill("monthly for Shop");
  await page.getByLabel("For whom").fill("Shop Example GmbH");
  await page.getByRole("combobox", { name: "SLOs" }).fill("till");
  await page.getByRole("option", { name: "till-availability" }).click();
  await page.keyboard.press("Escape");
  const times = page.getByRole("region", { name: "When they come" });
  await times.getByText("On the 4th of every month at 08:00.").waitFor();
  assert.equal(await times.getByRole("listitem").count(), 3);
  await page.getByLabel("Cron").fill("0 8 30 2 *");
  await page.getByText(/never comes/).waitFor();
  await page.getByLabel("Time", { exact: true }).selectOption({ label: "Weekly, on Monday at 08:00" });
  await times.getByText("Every Monday at 08:00.").waitFor();
  await page.getByRole("button", { name: "Add the schedule" }).click();
  await page.getByText("Choose where the reports go.").waitFor();
  await page.getByLabel("Through").selectOption({ label: "mail ops (ops@shop.example)" });
  await page.getByRole("button", { name: "Add the schedule" }).click();
  await page.getByRole("heading", { level: 1, name: /^Next: monthly for Shop, Mon .* 08:00/ }).waitFor();

  step("it is sent at once: the mail came, and the report stands in the list");
  const schedules = page.getByRole("region", { name: "Schedules" });
  const of = schedules.getByRole("row", { name: /monthly for Shop/ });
  await of.getByText("Never sent").waitFor();
  await of.getByRole("button", { name: "Send now" }).click();
  await of.getByText("Accepted").waitFor({ timeout: 60_000 });
  const sent = await until("the report came by mail", () => mail.mails.find((m) => m.subject.startsWith("Report: ")));
  assert.match(sent.subject, /till-availability/);
  const made = page.getByRole("region", { name: "Made reports" }).getByRole("row", { name: /till-availability/ });
  await made.getByText("Accepted").waitFor();
  const [sheet] = await Promise.all([
    page.waitForEvent("popup"),
    made.getByRole("link", { name: /^Page of till-availability/ }).click(),
  ]);
  await sheet.getByText("Shop Example GmbH").first().waitFor();
  await sheet.close();
  await made.getByRole("button", { name: /^CSV of/ }).click();
  const csv = await page.getByRole("menuitem", { name: "Summary" }).getAttribute("href");
  assert.match(await (await page.request.get(quorate.url + csv)).text(), /till-availability/);
  await page.keyboard.press("Escape");
  await page.screenshot({ path: `${out}reports.png`, fullPage: true });

  step("any report is opened without a schedule; dates that are none are refused");
  const now = page.getByRole("region", { name: "Any SLO, any period" });
  await now.getByRole("combobox", { name: "SLO" }).fill("till");
  await page.getByRole("option", { name: "till-availability" }).click();
  await now.getByLabel("Period").selectOption("current");
  await now.getByText(/till-availability, .* to date/).waitFor();
  const link = await now.getByRole("link", { name: "Open the page" }).getAttribute("href");
  assert.equal(link, `/api/v1${sloUrl}/report.html?window=current`);
  await now.getByLabel("Period").selectOption("dates");
  await now.getByLabel("From").fill("2026-02-31");
  await now.getByLabel("To").fill("2026-03-02");
  await now.getByRole("alert").waitFor();

  step("what somebody else saved meanwhile is shown beside what was typed, and nothing is lost");
  await of.getByRole("button", { name: "Change monthly for Shop" }).click();
  await page.getByRole("menuitem", { name: "Edit" }).click();
  await page.getByRole("region", { name: "When they come" }).getByText(/^Next/).waitFor();
  await page.getByLabel("For whom").fill("Shop Example AG");
  const id = page.url().split("/").pop();
  await quorate.api("PATCH", `/reports/schedules/${id}`, { cron: "0 9 * * 1" });
  await page.getByRole("button", { name: "Save" }).click();
  const conflict = page.getByRole("alert", { name: "Changed by somebody else" });
  await conflict.getByRole("row", { name: "When 0 9 * * 1 0 8 * * 1" }).waitFor();
  assert.equal(await page.getByLabel("For whom").inputValue(), "Shop Example AG");
  await conflict.getByRole("button", { name: "Save mine over it" }).click();
  await of.getByText("for Shop Example AG").waitFor();

  step("it is switched off, and on again by undo");
  await of.getByRole("button", { name: "Change monthly for Shop" }).click();
  await page.getByRole("menuitem", { name: "Pause" }).click();
  await of.getByText("Switched off").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await of.getByText("Switched off").waitFor({ state: "detached" });
  return `/reports/schedules/${id}`;
}

/** Deletes it, which asks for its name; what it made stays. */
export async function deleteReports({ page, quorate, step }) {
  step("a schedule is deleted by its name; what it made stays");
  await page.goto(`${quorate.url}/reports`);
  await page.getByRole("button", { name: "Change monthly for Shop" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByRole("dialog").getByLabel("Type monthly for Shop to confirm").fill("monthly for Shop");
  await page.getByRole("dialog").getByRole("button", { name: "Delete monthly for Shop" }).click();
  await page.getByRole("heading", { level: 1, name: "No report is sent by itself." }).waitFor();
  await page
    .getByRole("region", { name: "Made reports" })
    .getByRole("row", { name: /till-availability/ })
    .waitFor();
}
