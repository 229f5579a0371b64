// What a newcomer does, in a real browser against the real binary: open the link, register an https
// endpoint, see every location probe it, add mail and webhook, break it, be told once, mend it, be told
// once. Nothing waits for a time; everything waits for a condition.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { barriers, startBrowser, until } from "./support/browser.mjs";
import { deleteFailover, makeFailover } from "./support/failover.mjs";
import { deleteHeartbeat, makeHeartbeat } from "./support/heartbeats.mjs";
import { makeTcp } from "./support/kinds.mjs";
import { addresses, lines } from "./support/lines.mjs";
import { deleteMaintenance, planMaintenance } from "./support/maintenance.mjs";
import { startQuorate } from "./support/quorate.mjs";
import { deleteReports, makeReports } from "./support/reports.mjs";
import { deleteSlo, makeSlo, makeWiderSlos } from "./support/slos.mjs";
import { deleteStatusPage, makeStatusPage } from "./support/statuspages.mjs";
import { startMail, startTarget, startWebhook } from "./support/sinks.mjs";
import { stepThrough, tryPolicies } from "./support/whatif.mjs";

const NAMES = ["eu-sim", "us-sim", "ap-sim"];
const PASSWORD = "correct horse battery staple";
const out = new URL("out/", import.meta.url).pathname;
mkdirSync(out, { recursive: true });

const step = (text) => console.log(`· ${text}`);
const target = await startTarget();
const mail = await startMail();
const hook = await startWebhook();
const quorate = await startQuorate();
const browser = await startBrowser();
const context = await browser.newContext({
  viewport: { width: 1440, height: 1000 },
  reducedMotion: "reduce",
  locale: "en-GB",
});
const page = await context.newPage();
const problems = [];
page.on("pageerror", (error) => problems.push(`page error: ${error.message}`));
page.on("console", (message) => message.type() === "error" && problems.push(`console: ${message.text()}`));

try {
  step("the printed link creates the first administrator");
  await page.goto(quorate.setup);
  await page.getByLabel("E-mail").fill("lm@shop.example");
  await page.getByLabel("Name").fill("Lou");
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Create and sign in" }).click();
  await page.getByRole("heading", { level: 1, name: /Nothing is watched yet/ }).waitFor();

  step("the link works once");
  const other = await browser.newContext();
  const stranger = await other.newPage();
  await stranger.goto(quorate.setup);
  await stranger.getByRole("heading", { name: "This link does not work" }).waitFor();
  await stranger.goto(`${quorate.url}/monitors`);
  await stranger.getByRole("heading", { name: "Sign in" }).waitFor();
  await other.close();

  step("an https endpoint is tried from all locations before it is saved");
  await page.getByLabel("Address to watch").fill(target.url);
  await page.getByRole("button", { name: "Try it" }).click();
  const tried = page.getByRole("region", { name: "Try now" });
  // Its certificate is signed by itself, and that is what every location says.
  await until(
    "every location has refused the certificate",
    async () => (await tried.getByText("Fail", { exact: true }).count()) === 3,
  );
  await page.getByText("Connection", { exact: true }).click();
  await page.getByRole("switch", { name: "Verify the certificate" }).click();
  await tried.getByRole("button", { name: "Try again" }).click();
  await until("every location passes", async () => (await tried.getByText("Pass", { exact: true }).count()) === 3);
  for (const name of NAMES) await tried.getByRole("rowheader", { name: new RegExp(name) }).waitFor();
  assert.equal(
    await tried.getByRole("img", { name: /connect .* TLS .* wait/ }).count(),
    3,
    "each answer shows its phases",
  );

  step("the form says what to expect of the policy, and refuses what cannot work");
  const expect = page.getByRole("region", { name: "What to expect" });
  await expect.getByRole("rowheader", { name: "Balanced" }).waitFor();
  const slow = await expect.getByRole("row", { name: /^Balanced/ }).textContent();
  await page.getByLabel("Every").fill("5");
  await page.getByText(/out of range: 10 to/).waitFor();
  await page.getByLabel("Every").fill("10");
  await until(
    "the worst case follows the interval",
    async () => (await expect.getByRole("row", { name: /^Balanced/ }).textContent()) !== slow,
  );
  await page.getByText(/out of range: 10 to/).waitFor({ state: "detached" });
  await page.getByLabel("Name", { exact: true }).fill("checkout");
  await page.getByRole("combobox", { name: "Group" }).fill("shop");
  // So that the test need not wait a minute for the end to be believed.
  await page.getByText("Advanced", { exact: true }).click();
  await page.getByLabel("Well must last").fill("5");
  await page.getByRole("button", { name: "Add monitor" }).click();

  step("three locations probe it, with phases");
  await page.getByRole("region", { name: "Votes" }).waitFor();
  const votes = page.getByRole("region", { name: "Votes" });
  await until("three locations vote up", async () => (await votes.getByText("Up", { exact: true }).count()) === 3);
  for (const name of NAMES) await votes.getByRole("rowheader", { name: new RegExp(name) }).waitFor();
  const phases = page.getByRole("region", { name: "Where the time goes" });
  await until(
    "every location shows its phases",
    async () => (await phases.getByRole("img", { name: /connect .* TLS .* wait/ }).count()) === 3,
  );
  const monitorUrl = page.url();

  step("mail server, mail channel and webhook channel");
  await page.getByRole("link", { name: "Settings" }).click();
  const server = page.getByRole("region", { name: "Mail server" });
  await server.getByLabel("Host").fill("127.0.0.1");
  await server.getByRole("combobox", { name: "Security" }).click();
  await page.getByRole("option", { name: /clear text/ }).click();
  await server.getByLabel("Port").fill(String(mail.port));
  await server.getByLabel("From", { exact: true }).fill("quorate@shop.example");
  await server.getByRole("button", { name: "Save" }).click();
  await server.getByRole("button", { name: "Send test" }).click();
  await server.getByText("Accepted").waitFor();
  await page.getByRole("link", { name: "Alerting" }).click();
  await page.getByRole("button", { name: "Add mail" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("mail ops");
  await dialog.getByRole("combobox", { name: "To" }).fill("ops@shop.example");
  await dialog.getByRole("combobox", { name: "To" }).press("Enter");
  await dialog.getByRole("button", { name: "Add and send a test" }).click();
  await page.getByText("Test accepted").first().waitFor();
  await page.getByRole("button", { name: "Add webhook" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("ops bus");
  await dialog.getByLabel("Address", { exact: true }).fill(hook.url);
  await dialog.getByRole("button", { name: "Add and send a test" }).click();
  const key = page.getByRole("dialog", { name: /Signing key/ });
  hook.state.secret = (await key.getByText(/whsec_/).textContent()).match(/whsec_[\w+/=]+/)[0];
  await page.keyboard.press("Escape");
  await until("both channels accepted a test", async () => (await page.getByText("Test accepted").count()) === 2);
  const before = { mails: mail.mails.length, calls: hook.calls.length };
  assert.equal(before.mails, 2, "one test from the settings and one from the channel");
  assert.equal(before.calls, 1);

  step("the endpoint stops: one mail and one webhook say which locations agree");
  await page.goto(monitorUrl);
  await until("three locations vote up", async () => (await votes.getByText("Up", { exact: true }).count()) === 3);
  await target.stop();
  await page.locator(".state-line").getByText("Down", { exact: true }).waitFor({ timeout: 90_000 });
  await until("a mail and a webhook came", () => mail.mails.length > before.mails && hook.calls.length > before.calls);
  const [opened] = mail.mails.slice(before.mails);
  const [called] = hook.calls.slice(before.calls);
  assert.deepEqual(opened.to, ["ops@shop.example"]);
  assert.match(opened.subject, /checkout/);
  for (const name of NAMES) {
    assert.match(opened.text, new RegExp(name), `the mail names ${name}`);
    assert.match(JSON.stringify(called.body), new RegExp(name), `the webhook names ${name}`);
  }
  assert.equal(called.signed, true, "the webhook is signed with the key that was shown");
  await page.screenshot({ path: `${out}down.png`, fullPage: true });
  await votes.getByText("Down", { exact: true }).first().waitFor();
  assert.match(await page.getByRole("heading", { level: 1 }).textContent(), /3/, "the sentence says how many");

  step("the incident page says who was told; acknowledging works");
  await page.getByRole("region", { name: "Incidents" }).getByRole("link").first().click();
  await page.getByRole("region", { name: "What they saw" }).waitFor();
  await until(
    "both notices are accepted",
    async () => (await page.getByRole("region", { name: "Told" }).getByText("Accepted").count()) === 2,
  );
  await page.keyboard.press("a");
  await page.getByText(/ is at it since /).waitFor();
  await until(
    "both channels heard who is at it",
    async () => (await page.getByRole("region", { name: "Told" }).getByText("acknowledged").count()) === 2,
  );

  step("the endpoint comes back: one recovery per channel");
  await target.start();
  await page.locator(".state-line").getByText("Was down").waitFor({ timeout: 120_000 });
  await until(
    "both channels heard of the end",
    () => mail.mails.length >= before.mails + 3 && hook.calls.length >= before.calls + 3,
  );

  step("the monitor's page shows the outage and its availability");
  await page.goto(monitorUrl);
  await page.locator(".state-line").getByText("Up", { exact: true }).waitFor();
  await page.getByRole("region", { name: "Incidents" }).getByText("Down", { exact: true }).waitFor();
  const facts = page.getByRole("region", { name: "Facts" });
  await until("availability is below one hundred", async () => {
    const text = await facts.textContent();
    return /\d+\.\d+\s%/.test(text ?? "") && !/^.*Available100\.000/.test(text ?? "");
  });
  await page.getByRole("img", { name: /Verdict: .*down/ }).waitFor();
  await page.getByRole("button", { name: "Fails" }).click();
  await page.getByRole("button", { name: "Evidence" }).first().click();
  await page
    .getByText(/refused/i)
    .first()
    .waitFor();
  await page.screenshot({ path: `${out}recovered.png`, fullPage: true });

  step("the list filters by its address");
  await page.goto(`${quorate.url}/monitors?q=state:down`);
  await page.getByText("Nothing matches.").waitFor();
  await page.getByRole("button", { name: "Show all" }).click();
  await page.getByRole("link", { name: "checkout" }).waitFor();
  await page.goBack();
  await page.getByText("Nothing matches.").waitFor();

  const [over] = (await quorate.api("GET", "/incidents?state=resolved")).items;
  await tryPolicies({ page, quorate, step, monitor: over.monitor.id });
  await stepThrough({ page, quorate, step, incident: over.id });

  step("a fleet is added, its logs come, and one instance is named");
  await page.goto(`${quorate.url}/fleets`);
  await page.getByRole("heading", { level: 1, name: "No fleet is watched yet." }).waitFor();
  await page.getByRole("button", { name: "Add a fleet" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("shop-web");
  await dialog.getByRole("button", { name: "Add the fleet" }).click();
  await page.getByRole("heading", { level: 1, name: "shop-web waits for its first line." }).waitFor();
  await page.getByRole("button", { name: "Send logs…" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("lb-1");
  await dialog.getByRole("button", { name: "Make the command" }).click();
  await dialog.getByText(/quorate ship --fleet shop-web/).waitFor();
  await page.keyboard.press("Escape");
  const fleetUrl = new URL(page.url()).pathname;
  const instances = addresses(5);
  const to = Date.now();
  const sent = { instances, from: to - 40 * 60_000, to, perMinute: 120 };
  const third = (instance, at) => (instance === instances[2] && at > to - 10 * 60_000 ? 0.4 : 0.004);
  await quorate.send(fleetUrl.split("/").pop(), "lb-1", lines({ ...sent, fails: third }));
  // It sends only when a step wants it to.
  await quorate.api("PUT", `${fleetUrl}/sources/lb-1`, { patience_s: 300 });
  const table = page.getByRole("region", { name: "Instances", exact: true });
  await page
    .getByRole("heading", { level: 1, name: new RegExp(`${instances[2]} failed`) })
    .waitFor({ timeout: 90_000 });
  await until("five instances are in the table", async () => (await table.getByRole("rowheader").count()) === 5);
  await table
    .getByRole("row", { name: new RegExp(instances[2]) })
    .getByText("unlike its peers")
    .waitFor();
  await table
    .getByRole("row", { name: new RegExp(instances[0]) })
    .getByText("like its peers")
    .waitFor();
  await page
    .getByRole("region", { name: "Findings" })
    .getByText(/Errors/)
    .first()
    .waitFor();
  const alert = await until("a mail names the fleet", () => mail.mails.find((m) => m.subject.includes("shop-web")));
  assert.match(alert.subject, new RegExp(`^${instances[2]} fails more than its peers: shop-web, `));
  assert.match(alert.text, new RegExp(`${instances[2]} failed \\d+ of \\d+ requests`));
  await page.screenshot({ path: `${out}fleet.png`, fullPage: true });

  step("a monitor names the fleet behind it");
  await page.goto(`${monitorUrl}/edit`);
  await page.getByLabel("Fleet behind it").selectOption({ label: "shop-web" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("region", { name: "Facts" }).getByRole("link", { name: "shop-web" }).waitFor();
  const worth = page.getByRole("region", { name: "Worth a look" });
  await worth.getByText(/The certificate is not verified/).waitFor();
  await page.screenshot({ path: `${out}saved.png`, fullPage: true });
  await worth.getByRole("button", { name: "Leave it so" }).click();
  await worth.waitFor({ state: "detached" });

  step("a change reaches the fleet's page by the stream, long before it would have asked");
  await page.goto(quorate.url + fleetUrl);
  await page.getByRole("heading", { level: 1, name: new RegExp(`${instances[2]} failed`) }).waitFor();
  const asks = [];
  const count = (request) => request.url().includes(`${fleetUrl}/findings`) && asks.push(request.url());
  page.on("request", count);
  const goOn = async (minutes) => {
    const from = sent.to;
    sent.to = Math.min(Date.now(), from + minutes * 60_000);
    await quorate.send(fleetUrl.split("/").pop(), "lb-1", lines({ ...sent, from, fails: third, seed: sent.to }));
  };
  await quorate.api("PATCH", fleetUrl, { expected: 5 });
  await until("the page has asked again", () => asks.length > 0, 15);
  await goOn(3);
  page.off("request", count);

  // By now every notice has had its time: the outage, who is at it, and its end were told once each, on both
  // channels, and the fleet once.
  const subjects = mail.mails.slice(before.mails).map((m) => m.subject);
  const about = (name) => subjects.filter((subject) => subject.includes(name)).length;
  assert.deepEqual([about("checkout"), about("shop-web"), subjects.length], [3, 1, 4], subjects.join(" | "));
  const told = hook.calls.slice(before.calls).filter((call) => JSON.stringify(call.body).includes('"checkout"'));
  assert.equal(told.length, 3);

  step("the endpoint stops again: its incident shows what is found in the fleet, and the finding that it is felt");
  await target.stop();
  const incident = await until(
    "an incident of the monitor is open",
    async () => {
      const { items } = await quorate.api("GET", "/incidents?state=open&monitor=checkout");
      return items[0] ?? null;
    },
    120,
  );
  await page.goto(`${quorate.url}/incidents/${incident.id}`);
  const found = page.getByRole("region", { name: "Found in the fleet" });
  await found.getByText(new RegExp(`${instances[2]} failed`)).waitFor();
  await found.getByText(/Felt from outside: \d+ of \d+ probes failed in these minutes/).waitFor();
  await found.getByRole("link", { name: "shop-web" }).waitFor();
  await page.screenshot({ path: `${out}incident-fleet.png`, fullPage: true });
  await found.getByRole("link", { name: "Incident" }).click();
  await page.getByText(`shop-web: ${instances[2]} fails more than its peers`).first().waitFor();
  await page.getByRole("region", { name: "Told" }).getByText("Accepted").first().waitFor();
  await page.screenshot({ path: `${out}fleet-incident.png`, fullPage: true });
  await page.goto(quorate.url + fleetUrl);
  await page
    .getByRole("region", { name: "Findings" })
    .getByText(/Felt from outside: \d+ of \d+/)
    .waitFor();
  await target.start();

  step("a source is renamed, given its patience, and deleted, and what that means is said");
  const logs = page.getByRole("region", { name: "Logs" });
  await logs.getByRole("button", { name: "Change how lb-1 is read" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("edge-1");
  await dialog.getByLabel("Silent at most").fill("5");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText(/out of range: 10 to 86400/).waitFor();
  await dialog.getByLabel("Silent at most").fill("300");
  await dialog.getByRole("button", { name: "Save" }).click();
  await logs.getByRole("rowheader", { name: /edge-1 was lb-1/ }).waitFor();
  await logs.getByText(/waited for 5.min/).waitFor();
  await goOn(1);
  await logs.getByRole("button", { name: "Change how edge-1 is read" }).click();
  await page.screenshot({ path: `${out}source.png` });
  await dialog.getByRole("button", { name: "Delete…" }).click();
  await dialog.getByText(/Its lines stay counted/).waitFor();
  await dialog.getByLabel("Type edge-1 to confirm").fill("edge-1");
  await dialog.getByRole("button", { name: "Delete edge-1" }).click();
  await logs.getByText(/Whoever sent logs was deleted\./).waitFor();

  const sloUrl = await makeSlo({ page, quorate, step, out, monitorUrl });
  await makeWiderSlos({ page, quorate, step, out });
  const groupUrl = await makeFailover({ page, quorate, step, out });
  const pageUrl = await makeStatusPage({ page, quorate, step, out });
  const scheduleUrl = await makeReports({ page, quorate, step, out, mail, sloUrl });
  const maintenanceUrl = await planMaintenance({ page, quorate, step, out });
  const heartbeatUrl = await makeHeartbeat({ page, quorate, step, out });
  const tcp = await makeTcp({ page, quorate, step, out });

  step("no page has barriers that rules can find, in light and in dark");
  const stops = [];
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const path of [
      "/",
      "/monitors",
      new URL(monitorUrl).pathname,
      "/monitors/new",
      heartbeatUrl,
      `${heartbeatUrl}/edit`,
      `${tcp.path}/edit`,
      "/incidents",
      "/certificates",
      "/locations",
      "/fleets",
      fleetUrl,
      "/slos",
      "/slos/new",
      sloUrl,
      `${sloUrl}/edit`,
      "/reports",
      "/reports/schedules/new",
      scheduleUrl,
      "/failover-groups",
      "/failover-groups/new",
      groupUrl,
      "/status-pages",
      "/status-pages/new",
      pageUrl,
      `${pageUrl}/edit`,
      `${groupUrl}/edit`,
      "/maintenance",
      "/maintenance/new",
      "/maintenance/new?kind=correction",
      maintenanceUrl,
      "/alerting",
      "/people",
      "/settings",
      "/account",
    ]) {
      await page.goto(quorate.url + path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await until("it is loaded", async () => (await page.getByRole("status", { name: "Loading" }).count()) === 0);
      stops.push(...(await barriers(page)).map((text) => `${colorScheme} ${text}`));
    }
  }
  assert.deepEqual(stops, []);

  step("a viewer sees everything and no action");
  const invite = await quorate.api("POST", "/users/invite", { email: "v@shop.example", role: "viewer" });
  const viewing = await browser.newContext({ viewport: { width: 390, height: 844 } });
  const viewer = await viewing.newPage();
  await viewer.goto(invite.url);
  await viewer.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await viewer.getByRole("button", { name: "Create and sign in" }).click();
  await viewer.getByRole("navigation", { name: "Main, short" }).waitFor();
  await viewer.goto(monitorUrl);
  await viewer.getByRole("region", { name: "Votes" }).waitFor();
  for (const name of ["Pause", "Probe now", "Edit", "Acknowledge"])
    assert.equal(await viewer.getByRole("button", { name }).count(), 0, `${name} is absent`);
  await viewer.goto(quorate.url + sloUrl);
  await viewer.locator('[data-figure="achieved"]').waitFor();
  await viewer.getByRole("link", { name: "Report", exact: true }).waitFor();
  assert.equal(await viewer.getByRole("link", { name: "Edit" }).count(), 0, "Edit is absent");
  assert.equal(await viewer.getByRole("button", { name: "Delete…" }).count(), 0, "Delete is absent");
  for (const path of ["/reports", "/failover-groups", groupUrl, "/status-pages", pageUrl]) {
    await viewer.goto(quorate.url + path);
    await viewer.getByRole("heading", { level: 1 }).waitFor();
    await until("it is loaded", async () => (await viewer.getByRole("status", { name: "Loading" }).count()) === 0);
    const actions = /^(Add|Send now|Change|Edit|Take|Keep|New key|Publish|Back to draft|Write|Resolve|Delete)/;
    for (const role of ["button", "link"])
      assert.equal(
        await viewer.getByRole("main").getByRole(role, { name: actions }).count(),
        0,
        `${path} has no action`,
      );
    const wide = await viewer.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `no sideways scroll on a phone: ${path} is ${wide} px wide`);
  }
  const width = await viewer.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 390, `no sideways scroll on a phone: ${width} px`);
  await viewing.close();

  await deleteStatusPage({ page, quorate, step, pageUrl });
  await deleteFailover({ page, quorate, step, groupUrl });
  await tcp.end();
  await deleteHeartbeat({ quorate, step, path: heartbeatUrl });
  await deleteReports({ page, quorate, step });
  await deleteMaintenance({ page, quorate, step });
  await deleteSlo({ page, quorate, step, sloUrl });

  assert.equal(mail.mails.filter((m) => m.subject.includes("shop-web")).length, 1, "the fleet's alert is told once");
  assert.equal(
    new Set(hook.calls.map((call) => call.id)).size,
    hook.calls.length,
    "every webhook has an id of its own",
  );
  assert.deepEqual(
    problems.filter((text) => !/401|404|409|422/.test(text)),
    [],
  );
  console.log("All of it works.");
} catch (error) {
  await page.screenshot({ path: `${out}failed.png`, fullPage: true }).catch(() => {});
  console.error(error);
  console.error(`The page as it was: ${out}failed.png`);
  console.error(problems.join("\n"));
  console.error(quorate.log().split("\n").slice(-30).join("\n"));
  process.exitCode = 1;
} finally {
  await browser.close();
  const code = await quorate.stop();
  await Promise.all([mail.stop(), hook.stop(), target.stop().catch(() => {})]);
  if (code !== 0) {
    console.error(`quorate ended with ${code} instead of 0`);
    process.exitCode = 1;
  }
}
