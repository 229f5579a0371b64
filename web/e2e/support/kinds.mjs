// A check of another kind in the browser: its form, a try, a condition made of what was seen, its votes.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { until } from "./browser.mjs";

/** A server that greets, and answers PING. */
async function startPort() {
  const open = new Set();
  const server = createServer((socket) => {
    open.add(socket);
    socket.unref();
    socket.on("error", () => {});
    socket.on("close", () => open.delete(socket));
    socket.write("READY shop-cache\r\n");
    socket.on("data", (said) => socket.write(String(said).startsWith("PING") ? "+PONG\r\n" : "-ERR\r\n"));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  // A run that fails half-way must end, not wait for this port.
  server.unref();
  return {
    address: `127.0.0.1:${server.address().port}`,
    close: () => {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

/** Adds the TCP check `shop cache`; resolves to its path, and to what ends it and its server. */
export async function makeTcp({ page, quorate, step, out }) {
  const port = await startPort();
  step("a port with a dialogue is tried, and what was seen becomes a condition");
  await page.goto(`${quorate.url}/monitors/new`);
  await page.locator("label.choice", { hasText: /^TCP/ }).click();
  const address = page.getByRole("textbox", { name: "Address" });
  await address.fill(port.address);
  await page.getByLabel("Name", { exact: true }).fill("shop cache");
  await until("the scheme is written down", async () => (await address.inputValue()) === `tcp://${port.address}`);
  for (const [number, [what, text]] of [
    ["wait for", "^READY"],
    ["send", "PING\\r\\n"],
    ["wait for", "^\\+PONG"],
  ].entries()) {
    await page.getByRole("button", { name: "Add a step" }).click();
    await page.getByRole("combobox", { name: `Step ${number + 1}`, exact: true }).click();
    await page.getByRole("option", { name: what, exact: true }).click();
    await page.getByLabel(`Text of step ${number + 1}`).fill(text);
  }
  const tried = page.getByRole("region", { name: "Try now" });
  await tried.getByRole("button", { name: "Try now" }).click();
  await until("every location passes", async () => (await tried.getByText("Pass", { exact: true }).count()) === 3);
  await tried.getByRole("button", { name: /^Add a condition: latency/ }).click();
  assert.match(await page.getByLabel("Value of condition 1").inputValue(), /^\d+00$/);
  await page.screenshot({ path: `${out}tcp.png`, fullPage: true });
  await page.getByRole("button", { name: "Add monitor" }).click();
  const votes = page.getByRole("region", { name: "Votes" });
  await until("three locations vote up", async () => (await votes.getByText("Up", { exact: true }).count()) === 3);
  const path = new URL(page.url()).pathname;
  await page
    .getByRole("link", { name: "shop cache", exact: true })
    .or(page.getByText("shop cache", { exact: true }))
    .first()
    .waitFor();

  step("its form shows the dialogue as it was saved");
  await page.goto(`${quorate.url}${path}/edit`);
  await page.getByLabel("Text of step 3").waitFor();
  assert.equal(await page.getByLabel("Text of step 2").inputValue(), "PING\\r\\n");
  return {
    path,
    end: async () => {
      await quorate.api("DELETE", `/monitors/${path.split("/").at(-1)}`);
      port.close();
    },
  };
}
