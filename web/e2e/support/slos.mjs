// The life of an SLO in the browser: made, read, changed, deleted.
import assert from "node:assert/strict";

/** Makes an SLO of the monitor `checkout`; resolves to the path of its page. */
export async function makeSlo({ page, quorate, step, out, monitorUrl }) {
  step("an SLO is made: what cannot be told is refused as one types");
  await page.goto(`${quorate.url}/slos`);
  await page.getByRole("heading", { level: 1, name: "No SLO yet." }).waitFor();
  await page.getByRole("link", { name: "Add an SLO" }).click();
  await page.getByLabel("Name", { exact: true }).fill("till-availability");
  await page.getByRole("combobox", { name: "Monitor" }).fill("checkout");
  await page.getByRole("option", { name: "checkout" }).click();
  const means = page.getByRole("region", { name: "What it would mean" });
  await means.getByText(/in a whole window/).waitFor();
  await page.getByLabel("Objective").fill("100");
  await page.getByText(/between 0 and 100/).waitFor();
  await page.getByLabel("Objective").fill("99.9999");
  const refusal = page.getByText(/finer than the monitor can tell/);
  await refusal.waitFor();
  await page.getByRole("button", { name: "Add the SLO" }).click();
  await refusal.waitFor();
  assert.match(page.url(), /\/slos\/new$/, "it was not saved");
  await page.getByLabel("Objective").fill("99.5");
  await refusal.waitFor({ state: "detached" });
  const isReport = (response) => /\/slos\/[\w-]+\/report$/.test(new URL(response.url()).pathname) && response.ok();
  const [made] = await Promise.all([
    page.waitForResponse(isReport),
    page.getByRole("button", { name: "Add the SLO" }).click(),
  ]);

  step("its page shows the figures that the API gives");
  const report = await made.json();
  const sloUrl = new URL(page.url()).pathname;
  const figure = (name) => page.locator(`[data-figure="${name}"]`);
  const near = (text) => new RegExp(`^${text.replace(".", "\\.")}\\s%$`);
  await figure("objective").getByText(near("99.5")).waitFor();
  await figure("achieved").getByText(near(report.availability.pct)).waitFor();
  assert.match(await figure("left").textContent(), report.budget.remaining_ms < 0 ? /^−\d/ : /^\d/);
  const spent = page.getByRole("region", { name: "What used the budget" });
  assert.equal(await spent.getByRole("rowheader").count(), report.outages.list.length);
  assert.ok(report.outages.list.length >= 1, "the outages of before count");
  await page.getByRole("img", { name: /^Budget left: / }).waitFor();
  const burn = page.getByRole("region", { name: "Burn" });
  for (const rule of report.alerts) await burn.getByRole("rowheader", { name: rule.rule, exact: true }).waitFor();
  const whatIf = page.getByRole("region", { name: /^What if/ });
  await whatIf.getByRole("textbox", { name: "Objective" }).fill("10");
  await whatIf.getByRole("rowheader", { name: /if 10.%/ }).waitFor();
  await page.screenshot({ path: `${out}slo.png`, fullPage: true });
  await spent
    .getByRole("link", { name: /ncident/ })
    .first()
    .click();
  await page.locator(".state-line").waitFor();
  await page.goto(quorate.url + sloUrl);

  step("an SLO is changed, stands in the list and on its monitor's page");
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Service").fill("till");
  await page.getByLabel("Objective").fill("99");
  await page.getByRole("button", { name: "Save" }).click();
  await figure("objective").getByText(near("99")).waitFor();
  await page.goto(`${quorate.url}/slos?q=till`);
  const listed = page.getByRole("row", { name: /till-availability/ });
  await listed.getByText(near("99")).first().waitFor();
  await page.screenshot({ path: `${out}slos.png` });
  await page.goto(monitorUrl);
  await page.getByRole("region", { name: "Facts" }).getByRole("link", { name: "till-availability" }).waitFor();
  return sloUrl;
}

/** Deletes it, which asks for its name. */
export async function deleteSlo({ page, quorate, step, sloUrl }) {
  step("an SLO is deleted by its name");
  await page.goto(quorate.url + sloUrl);
  await page.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("dialog").getByLabel("Type till-availability to confirm").fill("till-availability");
  await page.getByRole("dialog").getByRole("button", { name: "Delete till-availability" }).click();
  await page.getByRole("heading", { level: 1, name: "No SLO yet." }).waitFor();
}

/** An SLO on several monitors together, and one on the requests of the fleet `shop-web`: made, read, reported. */
export async function makeWiderSlos({ page, quorate, step, out }) {
  step("an SLO on several monitors together, and one on a fleet's requests");
  const check = { kind: "http", url: "http://127.0.0.1:9/" };
  const spare = await quorate.api("POST", "/monitors", { name: "spare", check, enabled: false });
  const reportOf = async () => {
    await page.locator('[data-figure="achieved"]').waitFor();
    const id = page.url().split("/").pop();
    const answer = await page.request.get(`${quorate.url}/api/v1/slos/${id}/report.html`);
    return { id, html: await answer.text() };
  };
  await page.goto(`${quorate.url}/slos/new`);
  await page.getByLabel("Name", { exact: true }).fill("till-pair");
  await page.getByLabel("About").selectOption({ label: "Several monitors together" });
  for (const name of ["checkout", "spare"]) {
    await page.getByRole("combobox", { name: "Monitors" }).fill(name);
    await page.getByRole("option", { name }).click();
  }
  await page.keyboard.press("Escape");
  await page.getByLabel("Down when").selectOption({ label: "all of them are down" });
  await page
    .getByRole("region", { name: "What it would mean" })
    .getByText(/in a whole window/)
    .waitFor();
  await page.getByRole("button", { name: "Add the SLO" }).click();
  const pair = await reportOf();
  await page.getByRole("link", { name: "spare" }).waitFor();
  assert.match(pair.html, />Parts</);
  for (const name of ["checkout", "spare"]) assert.match(pair.html, new RegExp(`<td>${name}</td>`));
  assert.doesNotMatch(pair.html, new RegExp(spare.id), "members are told by their names");

  await page.goto(`${quorate.url}/slos/new`);
  await page.getByLabel("Name", { exact: true }).fill("shop-requests");
  await page.getByLabel("About").selectOption({ label: "The requests of a fleet" });
  await page.getByLabel("Fleet", { exact: true }).selectOption({ label: "shop-web" });
  await page.getByRole("combobox", { name: "Quiet minutes by" }).fill("checkout");
  await page.getByRole("option", { name: "checkout" }).click();
  await page.getByLabel("Quiet below").fill("30");
  await page
    .getByRole("region", { name: "What it would mean" })
    .getByText(/in a whole window/)
    .waitFor();
  await page.getByRole("button", { name: "Add the SLO" }).click();
  const requests = await reportOf();
  await page.getByText(/minutes with fewer than 30 are judged by checkout/).waitFor();
  assert.match(requests.html, /shop-web/);
  await page.screenshot({ path: `${out}slo-fleet.png`, fullPage: true });
  for (const { id } of [pair, requests]) await quorate.api("DELETE", `/slos/${id}`);
  await quorate.api("DELETE", `/monitors/${spare.id}`);
}
