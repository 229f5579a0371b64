// Maintenance in the browser: planned once and again, skipped, ended, corrected, deleted.
import assert from "node:assert/strict";
import { until } from "./browser.mjs";

/** Plans, changes and ends maintenance of the monitor `checkout`. */
export async function planMaintenance({ page, quorate, step, out }) {
  step("maintenance that comes again is planned; what would overlap is refused as one types");
  await page.goto(`${quorate.url}/maintenance`);
  await page.getByRole("heading", { level: 1, name: "None planned." }).waitFor();
  await page.screenshot({ path: `${out}maintenance-none.png`, fullPage: true });
  await page.getByRole("link", { name: "Plan a window" }).click();
  await page.getByLabel("Name", { exact: true }).fill("nightly backup");
  await page.getByLabel("Comes").selectOption("daily");
  await page.getByLabel("At", { exact: true }).fill("02:30");
  await page.getByRole("combobox", { name: "Time zone" }).fill("Europe/Berlin");
  await page.getByRole("option", { name: "Europe/Berlin" }).click();
  const times = page.getByRole("region", { name: "The next times" });
  await times.getByText(/every day at 02:30, 30.min/).waitFor();
  await until("five times are told", async () => (await times.getByRole("rowheader").count()) === 5);
  await times
    .getByRole("rowheader", { name: /02:30–03:00/ })
    .first()
    .waitFor();
  await page.getByLabel("Lasts").fill("1500");
  const refusal = page.getByText(/Is too long: what begins at/);
  await refusal.first().waitFor();
  await page.getByLabel("Lasts").fill("30");
  await refusal.first().waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Plan it" }).click();
  await page.getByText(/Say whom it covers/).waitFor();
  await page.getByRole("combobox", { name: "Groups" }).fill("shop");
  await page.getByRole("combobox", { name: "Groups" }).press("Enter");
  await page.screenshot({ path: `${out}maintenance-form.png`, fullPage: true });
  await page.getByRole("button", { name: "Plan it" }).click();
  const table = page.getByRole("region", { name: "Windows and plans", exact: true });
  const plan = table.getByRole("row", { name: /nightly backup/ });
  await plan.getByText("group shop, 1 monitor").waitFor();
  await page.getByRole("img", { name: /occurrences of 1.window or plan in five weeks/ }).waitFor();

  step("one time of it is skipped, and that is taken back");
  await plan.getByRole("button", { name: "Change nightly backup" }).click();
  await page.getByRole("menuitem", { name: /^Skip/ }).first().click();
  await plan.getByText(/1.time skipped/).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await plan.getByText(/1.time skipped/).waitFor({ state: "detached" });

  step("a window that runs is ended early");
  await quorate.api("POST", "/maintenance", {
    name: "database upgrade",
    start: new Date().toISOString(),
    end: new Date(Date.now() + 3_600_000).toISOString(),
    monitors: ["checkout"],
  });
  await page.reload();
  await page.getByRole("heading", { level: 1, name: /database upgrade keeps alerts silent until/ }).waitFor();
  const effect = table.getByRole("row", { name: /database upgrade/ });
  await effect.getByText(/its budget shrinks by/).waitFor();
  await page.screenshot({ path: `${out}maintenance.png`, fullPage: true });
  await page.getByRole("button", { name: "End now" }).click();
  await page.getByRole("heading", { level: 1, name: /^Nothing is in maintenance\. Next: nightly backup/ }).waitFor();

  step("a correction says why, and stands apart");
  await page.getByRole("link", { name: "Enter a correction" }).click();
  await page.getByLabel("Name", { exact: true }).fill("provider");
  await page.getByLabel("Covers").selectOption("everything");
  await page.getByRole("button", { name: "Enter the correction" }).click();
  await page.getByText(/say why/).waitFor();
  await page.getByLabel("Reason").fill("Their ticket 4711");
  await page.getByRole("button", { name: "Enter the correction" }).click();
  await page
    .getByRole("region", { name: "Over" })
    .getByRole("row", { name: /Correction provider/ })
    .waitFor();
  const { items } = await quorate.api("GET", "/maintenance?phase=planned");
  assert.equal(items.length, 1);
  return `/maintenance/${items[0].id}/edit`;
}

/** Deletes the plan, which asks for its name. */
export async function deleteMaintenance({ page, quorate, step }) {
  step("a plan is deleted by its name");
  await page.goto(`${quorate.url}/maintenance`);
  await page.getByRole("button", { name: "Change nightly backup" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("dialog").getByLabel("Type nightly backup to confirm").fill("nightly backup");
  await page.getByRole("dialog").getByRole("button", { name: "Delete nightly backup" }).click();
  await page.getByRole("heading", { level: 1, name: "None planned." }).waitFor();
}
