// The life of a status page in the browser: drafted, ordered, published, written on, deleted.
import assert from "node:assert/strict";
import { until } from "./browser.mjs";

/** Makes the page `shop` with a part behind which the monitor `checkout` is; resolves to the path of its page. */
export async function makeStatusPage({ page, quorate, step, out }) {
  step("a status page is drafted: what is public is said at each field, parts are ordered by keyboard");
  await page.goto(`${quorate.url}/status-pages`);
  await page.getByRole("heading", { level: 1, name: "Nothing is told to the public yet." }).waitFor();
  await page.getByRole("link", { name: "Add a page" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Shop Example");
  assert.equal(await page.getByLabel("Address", { exact: true }).inputValue(), "shop-example");
  await page.getByLabel("Address", { exact: true }).fill("shop");
  const first = page.getByRole("listitem", { name: "part 1 of group 1" });
  await first.getByRole("combobox", { name: "Monitor" }).fill("checkout");
  await page.getByRole("option", { name: "checkout" }).click();
  await page.getByRole("button", { name: "Save the draft" }).click();
  await page.getByText("It needs a public name; the monitor's own is never shown.").waitFor();
  await first.getByLabel("Public name").fill("Paying");
  await page.getByRole("button", { name: "Add a part" }).click();
  const second = page.getByRole("listitem", { name: "part 2 of group 1" });
  await second.getByRole("combobox", { name: "Measured by" }).selectOption({ label: "One SLO" });
  await second.getByRole("combobox", { name: "SLO", exact: true }).fill("till");
  await page.getByRole("option", { name: "till-availability" }).click();
  await second.getByLabel("Public name").fill("Tills");
  const tills = page.getByRole("listitem", { name: "Tills" }).getByLabel("Public description");
  await tills.fill("In every shop");
  await tills.press("Alt+ArrowUp");
  await page.getByText("Tills is now 1 of 2 in group 1.").waitFor();
  assert.ok(await tills.evaluate((field) => field === document.activeElement), "the focus moved with the part");
  const told = page.getByRole("region", { name: "What the public reads" });
  assert.deepEqual(await told.getByRole("listitem").allTextContents(), ["TillsIn every shop", "Paying"]);
  assert.equal(await told.getByText("checkout").count(), 0, "the monitor's own name stays inside");
  await page.screenshot({ path: `${out}status-editor.png`, fullPage: true });
  await page.getByRole("button", { name: "Save the draft" }).click();
  await page.getByRole("heading", { level: 1, name: /^A draft with 2.parts/ }).waitFor();
  const parts = page.getByRole("region", { name: "Parts" });
  await parts.getByRole("row", { name: "Paying monitor checkout" }).waitFor();
  await parts.getByRole("row", { name: /^Tills .*SLO till-availability/ }).waitFor();
  const pageUrl = new URL(page.url()).pathname;

  step("a draft is seen by those who are signed in alone; published it tells public names and nothing else");
  const shown = `${quorate.url}/status/shop`;
  assert.equal((await fetch(shown)).status, 404, "a draft is not there");
  const preview = await page.getByRole("link", { name: "Preview" }).getAttribute("href");
  assert.match(await (await page.request.get(quorate.url + preview)).text(), /Shop Example/);
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("heading", { level: 1, name: /^Public, with 2.parts/ }).waitFor();
  const html = await until("the public page is there", async () => {
    const answer = await fetch(shown);
    return answer.ok ? answer.text() : null;
  });
  for (const told of ["Shop Example", "Paying", "Tills", "In every shop"]) assert.match(html, new RegExp(told));
  for (const kept of ["checkout", "till-availability", "eu-sim"]) assert.doesNotMatch(html, new RegExp(kept));

  step("a post is written, goes on, is corrected and resolved");
  await page.getByRole("button", { name: "Write a post" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Title").fill("Paying fails for most people");
  await dialog.getByLabel("Impact").selectOption({ label: "Major" });
  await dialog.getByRole("combobox", { name: "Parts" }).fill("Pay");
  await page.getByRole("option", { name: "Paying" }).click();
  await dialog.getByRole("button", { name: "Tell the public" }).click();
  await dialog.getByText("Say what people should know.").waitFor();
  await dialog.getByLabel("First update").fill("We see it and are looking for the cuase.");
  await dialog.getByRole("button", { name: "Tell the public" }).click();
  const post = page.getByRole("article", { name: "Paying fails for most people" });
  await post.getByText("Major impact").waitFor();
  await page.getByRole("heading", { level: 1, name: /^Public, with 1.post that is not resolved/ }).waitFor();
  await post.getByRole("button", { name: "Add an update" }).click();
  await dialog.getByLabel("How far it is").selectOption({ label: "Identified" });
  await dialog.getByLabel("Text").fill("One of two front addresses lost its servers.");
  await dialog.getByRole("button", { name: "Tell the public" }).click();
  await post.getByText("One of two front addresses lost its servers.").waitFor();
  await post
    .getByRole("button", { name: /^Edit the update/ })
    .last()
    .click();
  await dialog.getByLabel("Text").fill("We see it and are looking for the cause.");
  await dialog.getByRole("button", { name: "Save" }).click();
  await post.getByText("We see it and are looking for the cause.").waitFor();
  await page.screenshot({ path: `${out}status-posts.png`, fullPage: true });
  await until("the public reads it", async () => {
    const told = await (await fetch(shown)).text();
    return told.includes("Paying fails for most people") && told.includes("looking for the cause.");
  });
  await post.getByRole("button", { name: "Resolve" }).click();
  await dialog.getByLabel("Text").fill("Paying works again.");
  await dialog.getByRole("button", { name: "Resolve" }).click();
  const earlier = page.getByRole("region", { name: "Earlier posts" });
  await earlier.getByRole("article", { name: "Paying fails for most people" }).waitFor();
  await page.getByRole("heading", { level: 1, name: /^Public, with 2.parts/ }).waitFor();
  return pageUrl;
}

/** Deletes it, which asks for its name. */
export async function deleteStatusPage({ page, quorate, step, pageUrl }) {
  step("a status page is deleted by its name");
  await page.goto(quorate.url + pageUrl);
  await page.getByRole("button", { name: "Delete…" }).first().click();
  await page.getByRole("dialog").getByLabel("Type Shop Example to confirm").fill("Shop Example");
  await page.getByRole("dialog").getByRole("button", { name: "Delete Shop Example" }).click();
  await page.getByRole("heading", { level: 1, name: "Nothing is told to the public yet." }).waitFor();
}
