// The real binary, started with a data folder of its own.
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const binaries = [process.env.QUORATE_BIN, "../target/release/quorate", "../target/debug/quorate"];

function binary() {
  const found = binaries.filter(Boolean).find((path) => existsSync(path));
  if (!found) throw new Error("No quorate binary. Build it first (cargo build), or name one in QUORATE_BIN.");
  return resolve(found);
}

/** Starts `quorate up`; resolves once it has printed its sign-in link. */
export async function startQuorate(args = []) {
  const dir = mkdtempSync(join(tmpdir(), "quorate-e2e-"));
  // As root the private Postgres runs as another user, who must be able to pass through.
  chmodSync(dir, 0o711);
  const data = join(dir, "data");
  const child = spawn(
    binary(),
    ["up", "--data-dir", data, "--listen", "127.0.0.1:0", "--allow-net", "127.0.0.0/8", ...args],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, QUORATE_DATABASE_URL: "", RUST_LOG: process.env.RUST_LOG ?? "warn" },
    },
  );
  let text = "";
  const exit = new Promise((done) => child.once("exit", (code, signal) => done(code ?? signal)));
  const link = new Promise((done, fail) => {
    const read = (chunk) => {
      text += chunk;
      const match = /https?:\/\/\S+\/setup\/[\w-]+/.exec(text);
      if (match) done(match[0]);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    exit.then((code) => fail(new Error(`quorate ended with ${code} before it was ready:\n${text}`)));
  });
  const setup = await link;
  const url = new URL(setup).origin;
  const token = () => readFileSync(join(data, "admin.token"), "utf8").trim();
  return {
    url,
    setup,
    log: () => text,
    /** Calls the API with the token that `up` writes for scripts. */
    async api(method, path, body) {
      const answer = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${token()}`, ...(body ? { "content-type": "application/json" } : {}) },
        body: body ? JSON.stringify(body) : undefined,
      });
      const json = answer.status === 204 ? null : await answer.json();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(json)}`);
      return json;
    },
    /** Sends lines of logs to a fleet, as one part without a file. */
    async send(fleet, source, text) {
      const answer = await fetch(`${url}/api/v1/fleets/${fleet}/logs?source=${encodeURIComponent(source)}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token()}`, "content-type": "text/plain" },
        body: text,
      });
      if (!answer.ok) throw new Error(`logs of ${source}: ${answer.status} ${await answer.text()}`);
      return answer.json();
    },
    async stop() {
      child.kill("SIGTERM");
      const code = await exit;
      rmSync(dir, { recursive: true, force: true });
      return code;
    },
  };
}
