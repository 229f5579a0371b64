import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];
const onPath = (process.env.PATH ?? "").split(delimiter).flatMap((dir) => NAMES.map((name) => join(dir, name)));
const paths = [process.env.CHROMIUM, ...onPath];

export async function startBrowser() {
  const executablePath = paths.filter(Boolean).find((path) => existsSync(path));
  if (!executablePath) throw new Error("No Chromium. On Debian: apt-get install -y chromium; or name one in CHROMIUM.");
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** Asks until something holds; says what was waited for when it never does. */
export async function until(what, holds, limit_s = 120) {
  const end = Date.now() + limit_s * 1000;
  let last;
  while (Date.now() < end) {
    try {
      const value = await holds();
      if (value) return value;
    } catch (error) {
      last = error;
    }
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`Waited ${limit_s} s in vain until ${what}.${last ? ` ${last.message}` : ""}`);
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What automatic rules of WCAG 2.2 AA find on the page as it stands; nothing, when all is well. */
export async function barriers(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() =>
    axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }),
  );
  return found.violations.map((v) => `${new URL(page.url()).pathname}: ${v.id}, ${v.nodes[0].html.slice(0, 200)}`);
}
