// The life of a failover group in the browser: made, read with its key, a member taken out by hand, deleted.
import assert from "node:assert/strict";
import { until } from "./browser.mjs";

/** Makes the group `shop` of two members that go by the monitor `checkout`; resolves to the path of its page. */
export async function makeFailover({ page, quorate, step, out }) {
  await until("the monitor is up again", async () => {
    const { counts } = await quorate.api("GET", "/overview?state=down");
    return counts.up === counts.total;
  });
  step("a failover group is made: members are ordered by keyboard, and the key is shown once");
  await page.goto(`${quorate.url}/failover-groups`);
  await page.getByRole("heading", { level: 1, name: "No failover group yet." }).waitFor();
  await page.getByRole("link", { name: "Add a group" }).first().click();
  await page.getByRole("textbox", { name: "Name" }).first().fill("Shop");
  for (const [n, name] of ["fra", "iad"].entries()) {
    const member = page.getByRole("listitem", { name: `member ${n + 1}` });
    await member.getByRole("combobox", { name: "Monitor" }).fill("checkout");
    await page.getByRole("option", { name: "checkout" }).click();
    await member.getByLabel("Address").fill(`192.0.2.${n + 1}0`);
    await member.getByRole("textbox", { name: "Name" }).fill(name);
  }
  await page.getByRole("button", { name: "Add the group" }).click();
  await page.getByText(/lower-case letters, digits and inner hyphens/).waitFor();
  await page.getByRole("textbox", { name: "Name" }).first().fill("shop");
  const second = page.getByRole("listitem", { name: "iad" }).getByLabel("Address");
  await second.press("Alt+ArrowUp");
  await page.getByText("iad is now 1 of 2.").waitFor();
  assert.ok(await second.evaluate((field) => field === document.activeElement), "the focus moved with the member");
  assert.deepEqual(
    await page
      .getByRole("listitem")
      .getByLabel("Address")
      .evaluateAll((all) => all.map((f) => f.value)),
    ["192.0.2.20", "192.0.2.10"],
  );
  await page.getByRole("button", { name: "Move iad down" }).click();
  await page.getByText("iad is now 2 of 2.").waitFor();
  await page.getByRole("button", { name: "Add the group" }).click();
  const dialog = page.getByRole("dialog", { name: "Key of shop" });
  const key = await dialog.getByText(/^qro_/).evaluate((box) => box.firstChild.textContent);
  await dialog.getByRole("button", { name: "I have it" }).click();
  await page.getByRole("heading", { level: 1, name: "All 2 are served." }).waitFor();
  const feed = `${quorate.url}/failover/shop`;
  const ask = async (path = "") => {
    const answer = await fetch(feed + path, { headers: { authorization: `Bearer ${key}` } });
    return { status: answer.status, text: await answer.text() };
  };
  assert.deepEqual(
    JSON.parse((await ask()).text).serve.map((one) => one.name),
    ["fra", "iad"],
  );
  assert.equal(await page.getByText(key).count(), 0, "the key is not shown again");

  step("a member is taken out by hand, which needs a reason, and given back to its monitor");
  const members = page.getByRole("region", { name: "Members" });
  await members.getByRole("button", { name: "Take fra out" }).click();
  const hand = page.getByRole("dialog", { name: "Take fra out" });
  await hand.getByRole("button", { name: "Take fra out" }).click();
  await hand.getByText(/Say why/).waitFor();
  await hand.getByLabel("Reason").fill("moving it to the new rack");
  await hand.getByLabel("For").selectOption({ label: "1 hour" });
  await hand.getByRole("button", { name: "Take fra out" }).click();
  await page.getByRole("heading", { level: 1, name: "1 of 2 are served; out: fra." }).waitFor();
  const fra = members.getByRole("row", { name: /fra/ });
  await fra.getByText("Out", { exact: true }).waitFor();
  await fra.getByText("moving it to the new rack").waitFor();
  assert.equal((await ask("/members/fra")).status, 503);
  assert.equal((await ask("/members/iad")).status, 200);
  await page.getByText("A record for PowerDNS").click();
  await page.getByText(/ifurlextup\(/).waitFor();
  await page.screenshot({ path: `${out}failover.png`, fullPage: true });
  await members.getByRole("button", { name: "Take iad out" }).click();
  const last = page.getByRole("dialog", { name: "Take iad out" });
  await last.getByLabel("Reason").fill("as well");
  await last.getByRole("button", { name: "Take iad out" }).click();
  await last.getByText(/would leave nobody/i).waitFor();
  await page.keyboard.press("Escape");
  await fra.getByRole("button", { name: "Let its monitor decide" }).click();
  await page.getByRole("heading", { level: 1, name: "All 2 are served." }).waitFor();

  step("another key closes the feed for the old one");
  await page.getByRole("button", { name: "New key…" }).click();
  await page.getByRole("dialog").getByLabel("Type shop to confirm").fill("shop");
  await page.getByRole("dialog").getByRole("button", { name: "Replace the key of shop" }).click();
  await page.getByRole("dialog", { name: "Key of shop" }).getByText(/^qro_/).waitFor();
  assert.equal((await ask()).status, 401);
  await page.getByRole("button", { name: "I have it" }).click();
  return new URL(page.url()).pathname;
}

/** Deletes it, which asks for its name. */
export async function deleteFailover({ page, quorate, step, groupUrl }) {
  step("a failover group is deleted by its name");
  await page.goto(quorate.url + groupUrl);
  await page.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("dialog").getByLabel("Type shop to confirm").fill("shop");
  await page.getByRole("dialog").getByRole("button", { name: "Delete shop" }).click();
  await page.getByRole("heading", { level: 1, name: "No failover group yet." }).waitFor();
}
