// Pictures of every page, wide and narrow, light and dark, with no data, with much data and with an
// outage, from the real binary. They go to e2e/out/shots, for people to look at.
import { mkdirSync, rmSync } from "node:fs";
import { startBrowser, until } from "./support/browser.mjs";
import { fleets, tellFleets } from "./support/fleets.mjs";
import { startQuorate } from "./support/quorate.mjs";
import { startMail, startTarget, startWebhook } from "./support/sinks.mjs";
import { tellOutside } from "./support/told.mjs";

// The outage needs two monitors of the same target, the SLOs four, and one is paused.
const LEAST = 8;
const MANY = Number(process.env.SHOTS_MONITORS ?? 150);
if (!Number.isInteger(MANY) || MANY < LEAST) {
  console.error(`SHOTS_MONITORS is ${process.env.SHOTS_MONITORS}: it must be a whole number from ${LEAST} on.`);
  process.exit(2);
}
const out = new URL("out/shots/", import.meta.url).pathname;
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

const sizes = { wide: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };
const everyPage = {
  overview: "/",
  monitors: "/monitors",
  add: "/monitors/new",
  incidents: "/incidents",
  certificates: "/certificates",
  locations: "/locations",
  fleets: "/fleets",
  slos: "/slos",
  "slo-add": "/slos/new",
  reports: "/reports",
  "report-add": "/reports/schedules/new",
  maintenance: "/maintenance",
  "maintenance-add": "/maintenance/new",
  alerting: "/alerting",
  "status-pages": "/status-pages",
  "status-page-add": "/status-pages/new",
  failover: "/failover-groups",
  "failover-add": "/failover-groups/new",
  people: "/people",
  settings: "/settings",
  account: "/account",
};

const target = await startTarget();
const steady = await startTarget();
const mail = await startMail();
const hook = await startWebhook();
const quorate = await startQuorate();
const browser = await startBrowser();
const problems = [];

/** One signed-in window per size and scheme. */
async function windows(storageState) {
  const all = [];
  for (const [size, viewport] of Object.entries(sizes))
    for (const colorScheme of ["light", "dark"]) {
      const context = await browser.newContext({
        viewport,
        colorScheme,
        reducedMotion: "reduce",
        storageState,
        locale: "en-GB",
        timezoneId: "Europe/Berlin",
      });
      const page = await context.newPage();
      page.on("pageerror", (error) => problems.push(`${page.url()}: ${error.message}`));
      all.push({ name: `${size}-${colorScheme}`, page, width: viewport.width });
    }
  return all;
}

async function shoot(stage, pages, views) {
  for (const [name, path] of Object.entries(pages))
    for (const view of views) {
      await view.page.goto(quorate.url + path);
      await view.page.locator("main").waitFor();
      await until(
        `${path} is loaded`,
        async () => (await view.page.getByRole("status", { name: "Loading" }).count()) === 0,
        20,
      );
      // The clock in the corner says that the stream is open: nothing more is on its way.
      await view.page.evaluate(() => document.fonts.ready);
      const wide = await view.page.evaluate(() => document.documentElement.scrollWidth);
      if (wide > view.width) problems.push(`${stage}/${name} ${view.name}: ${wide} px wide`);
      await view.page.screenshot({ path: `${out}${stage}-${name}-${view.name}.png`, fullPage: name !== "monitors" });
    }
  console.log(`· ${stage}: ${Object.keys(pages).length} pages`);
}

function monitor(n, url) {
  const groups = ["shop", "platform", "customers", "partners"];
  return {
    name: n < 4 ? ["checkout", "search", "assets", "account"][n] : `tenant-${String(n).padStart(3, "0")}`,
    group: groups[n < 4 ? 0 : n % groups.length],
    check: { kind: "http", url, tls: { verify: false }, assertions: [{ on: "status", op: "in", value: ["2xx"] }] },
    interval_s: n < 4 ? 10 : 60,
    labels: { team: groups[n % groups.length] },
    runbook_url: n === 0 ? "https://wiki.example/checkout" : null,
  };
}

/** SLOs of every kind that a monitor can have. */
function objectives(ids) {
  const month = { kind: "calendar", duration: "1M", timezone: "Europe/Berlin" };
  const rolling = (duration) => ({ kind: "rolling", duration });
  return [
    { name: "checkout-availability", service: "checkout", monitor: ids[0], target_ppb: 999e6, window: month },
    { name: "search-any-month", service: "search", monitor: ids[1], target_ppb: 995e6, window: rolling("30d") },
    { name: "assets-passes", service: "shop", monitor: ids[2], sli: "probe_ratio", target_ppb: 99e7, window: month },
    {
      name: "account-quick",
      service: "account",
      monitor: ids[3],
      sli: "latency",
      threshold_us: 300_000,
      target_ppb: 95e7,
      window: rolling("7d"),
    },
    { name: "shop-together", service: "shop", members: ids.slice(0, 4), target_ppb: 99e7, window: month },
  ];
}

try {
  const first = await browser.newContext({ reducedMotion: "reduce" });
  const page = await first.newPage();
  await page.goto(quorate.setup);
  await page.screenshot({ path: `${out}setup.png` });
  await page.getByLabel("E-mail").fill("lm@shop.example");
  await page.getByLabel("Name").fill("Lou");
  await page.getByLabel("Password", { exact: true }).fill("correct horse battery staple");
  await page.getByRole("button", { name: "Create and sign in" }).click();
  await page.getByRole("navigation", { name: "Main", exact: true }).waitFor();
  const views = await windows(await first.storageState());
  await shoot("none", everyPage, views);

  await quorate.api("PUT", "/settings/mail", {
    host: "127.0.0.1",
    port: mail.port,
    security: "none",
    from: "quorate@shop.example",
  });
  await quorate.api("POST", "/channels", { name: "mail ops", kind: "email", config: { to: ["ops@shop.example"] } });
  await quorate.api("POST", "/channels", {
    name: "ops bus",
    kind: "webhook",
    config: { url: hook.url },
    min_severity: "down",
  });
  await quorate.api("POST", "/tokens", { name: "deploy", role: "editor" });
  await quorate.api("POST", "/locations", { name: "fra", region: "Europe", domain: "Northnet AS64496" });
  const ids = [];
  for (let n = 0; n < MANY; n++)
    ids.push((await quorate.api("POST", "/monitors", monitor(n, n < 2 ? target.url : steady.url))).id);
  await quorate.api("PATCH", `/monitors/${ids[7]}`, { enabled: false });
  const slos = [];
  for (const slo of objectives(ids)) slos.push((await quorate.api("POST", "/slos", slo)).id);
  await until(
    "every monitor has a state",
    async () => {
      const { counts } = await quorate.api("GET", "/overview?state=down");
      return counts.pending === 0 && counts.up >= MANY - 1 - Math.floor(MANY / 20);
    },
    180,
  );
  const one = {
    monitor: `/monitors/${ids[0]}`,
    edit: `/monitors/${ids[0]}/edit`,
    "what-if": `/monitors/${ids[0]}/what-if`,
    filter: "/monitors?q=group:shop",
  };
  const slo = { slo: `/slos/${slos[0]}`, "slo-edit": `/slos/${slos[0]}/edit` };
  const outside = await tellOutside(quorate, ids, slos);
  await until("every report is made", async () => {
    const { items } = await quorate.api("GET", "/reports/schedules");
    return items.filter((schedule) => schedule.last).length === 3;
  });
  await shoot("much", { ...everyPage, ...one, ...slo, ...outside }, views);

  target.answer.status = 503;
  target.answer.body = "<h1>503 no backend</h1>";
  const incident = await until(
    "two incidents are open",
    async () => {
      const { items } = await quorate.api("GET", "/incidents?state=open");
      return items.length >= 2 ? items[0] : null;
    },
    120,
  );
  await shoot(
    "outage",
    {
      overview: "/",
      monitors: "/monitors",
      incidents: "/incidents",
      incident: `/incidents/${incident.id}`,
      monitor: `/monitors/${incident.monitor.id}`,
      alerting: "/alerting",
      slos: "/slos",
      slo: `/slos/${slos[0]}`,
      reports: "/reports",
      failover: "/failover-groups",
      "failover-group": outside["failover-group"],
      "status-page": outside["status-page"],
    },
    views,
  );
  const made = await tellFleets(quorate);
  await until("every fleet is judged", async () => (await fleets(quorate)).every((one) => made.isJudged(one)), 180);
  await shoot("fleets", { fleets: "/fleets", ...made.pages }, views);
  for (const text of problems) console.log(`! ${text}`);
  if (problems.length > 0) process.exitCode = 1;
  console.log(`Pictures are in ${out}`);
} finally {
  await browser.close();
  await quorate.stop();
  await Promise.all([mail.stop(), hook.stop(), target.stop(), steady.stop()]);
}
