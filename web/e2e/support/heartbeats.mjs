// A job that calls us, in the browser: added, called by the line that is shown, replaced address, deleted.
import assert from "node:assert/strict";
import { until } from "./browser.mjs";

/** Adds the heartbeat `nightly backup` and calls it; resolves to the path of its page. */
export async function makeHeartbeat({ page, quorate, step, out }) {
  step("a heartbeat is added; it waits for the first call");
  await page.goto(`${quorate.url}/monitors/new`);
  await page.locator("label.choice", { hasText: /^Heartbeat/ }).click();
  await page.getByRole("button", { name: "At set times" }).click();
  await page.getByLabel("Cron expression").fill("30 2 * * *");
  await page.getByText("Every day at 02:30").waitFor();
  await page.getByLabel("Grace", { exact: true }).fill("20");
  await page.getByLabel("Name", { exact: true }).fill("nightly backup");
  await page.getByRole("button", { name: "Add monitor" }).click();
  await page.getByRole("heading", { level: 1, name: "The job has not called yet." }).waitFor();
  const path = new URL(page.url()).pathname;
  await page.getByText("every day at 02:30, UTC, at most 20").waitFor();

  step("the line that is shown calls it, and it is up");
  const address = page.getByRole("region", { name: "How the job calls" });
  const url = async () => /https?:\S+?\/hb\/qrh_[\w-]{43}/.exec((await address.textContent()) ?? "")?.[0] ?? "";
  const first = await url();
  assert.equal(await (await fetch(`${first}/start`)).text(), "OK\n");
  assert.equal(await (await fetch(first, { method: "POST", body: "done" })).text(), "OK\n");
  await page.getByRole("heading", { level: 1, name: /The job is in time/ }).waitFor();
  const calls = page.getByRole("region", { name: "Calls of the job" });
  await calls.getByText("Succeeded").waitFor();
  await calls.getByText("Started").waitFor();
  await page.screenshot({ path: `${out}heartbeat.png`, fullPage: true });

  step("its address is replaced, and the old one opens nothing");
  await address.getByRole("button", { name: "Replace the address" }).click();
  await until("there is a new address", async () => ![first, ""].includes(await url()));
  assert.equal((await fetch(first)).status, 404);
  assert.equal((await fetch(await url())).status, 200);
  return path;
}

export async function deleteHeartbeat({ quorate, step, path }) {
  step("a deleted heartbeat takes no call");
  const id = path.split("/").at(-1);
  const { url } = await quorate.api("GET", `/monitors/${id}/heartbeat`);
  await quorate.api("DELETE", `/monitors/${id}`);
  assert.equal((await fetch(url)).status, 404);
}
