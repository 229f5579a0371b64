// Another policy over what was stored: from the monitor's menu to the editor that it opens with; and an incident
// decision by decision.
import assert from "node:assert/strict";
import { barriers } from "./browser.mjs";

/** Tries "any one location" and "careful" over the last hour, in which the monitor was down once and came back. */
export async function tryPolicies({ page, quorate, step, monitor }) {
  step("another policy is tried over the last hour, and taken into the editor without being saved");
  await page.goto(`${quorate.url}/monitors/${monitor}`);
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Try another policy" }).click();
  await page.getByRole("heading", { level: 1, name: /judged by another policy/ }).waitFor();
  await page.getByRole("button", { name: "1 h", exact: true }).click();
  await page.getByRole("radio", { name: /Careful/ }).check();
  await page.getByRole("button", { name: "Try it" }).press("Enter");
  await page.getByRole("heading", { level: 1, name: /^This policy/ }).waitFor();
  const lanes = page.getByRole("region", { name: "Incidents" }).getByRole("img");
  assert.match(await lanes.getAttribute("aria-label"), /Real: .*down/);
  const numbers = page.getByRole("region", { name: "In numbers" }).getByRole("row");
  assert.equal(await numbers.count(), 5, "a head, what happened, and three policies");
  assert.match(new URL(page.url()).search, /range=1h.*try=/);
  assert.deepEqual(await barriers(page), []);
  await page.getByRole("button", { name: "As a table" }).click();
  await page.getByRole("row", { name: /Real/ }).first().waitFor();

  await page.getByRole("link", { name: "Use this policy" }).click();
  await page.getByText("Nothing is saved yet.").waitFor();
  assert.ok(await page.getByRole("radio", { name: /Careful/ }).isChecked());
  const { policy } = await quorate.api("GET", `/monitors/${monitor}`);
  assert.notEqual(policy.preset, "careful", "trying saves nothing");
}

/** Steps through the incident with the keyboard. */
export async function stepThrough({ page, quorate, step, incident }) {
  step("the incident is told decision by decision, by keyboard");
  await page.goto(`${quorate.url}/incidents/${incident}`);
  const card = page.getByRole("region", { name: "Decided step by step" });
  await card.getByText("incident opened").waitFor();
  const slider = card.getByRole("slider", { name: "Decision" });
  await slider.press("Home");
  await card.getByText(/^1 of \d+/).waitFor();
  assert.ok(await card.getByRole("button", { name: "Back" }).isDisabled());
  await slider.press("ArrowRight");
  await card.getByText(/^2 of \d+/).waitFor();
  await slider.press("End");
  await card.getByText("incident resolved").waitFor();
  await card.getByText("the verdict is the same").waitFor();
  assert.deepEqual(await barriers(page), []);
}
