import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const paths = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

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
