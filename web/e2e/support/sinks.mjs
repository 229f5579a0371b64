// What Quorate talks to in the tests: a target that breaks and heals, a mail server, a webhook receiver.
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer as createHttp } from "node:http";
import { createServer as createHttps } from "node:https";
import { SMTPServer } from "smtp-server";

const here = (name) => readFileSync(new URL(name, import.meta.url));

// The mail server keeps its socket server inside.
const listening = (server, port = 0) =>
  new Promise((done, fail) => {
    server.once("error", fail);
    server.listen(port, "127.0.0.1", () => done((server.server ?? server).address().port));
  });

/** An HTTPS endpoint with a self-signed certificate; `stop` closes its port, `start` opens the same again. */
export async function startTarget() {
  const answer = { status: 200, body: '{"status":"ok"}', delay: 0 };
  const open = new Set();
  let server;
  let port = 0;
  const start = async () => {
    server = createHttps({ key: here("target.key.pem"), cert: here("target.cert.pem") }, (_request, response) => {
      setTimeout(() => {
        response.writeHead(answer.status, { "content-type": "application/json" });
        response.end(answer.body);
      }, answer.delay);
    });
    server.on("connection", (socket) => {
      open.add(socket);
      socket.once("close", () => open.delete(socket));
    });
    port = await listening(server, port);
  };
  await start();
  return {
    answer,
    url: `https://127.0.0.1:${port}/health`,
    start,
    stop: () =>
      new Promise((done) => {
        for (const socket of open) socket.destroy();
        server.close(() => done());
      }),
  };
}

/** A real SMTP server that keeps what it was given. */
export async function startMail() {
  const mails = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData(stream, session, done) {
      let raw = "";
      stream.setEncoding("utf8");
      stream.on("data", (chunk) => {
        raw += chunk;
      });
      stream.on("end", () => {
        mails.push({ to: session.envelope.rcptTo.map((r) => r.address), raw, ...readable(raw) });
        done(null, "queued");
      });
    },
  });
  const port = await listening(server);
  return { mails, port, stop: () => new Promise((done) => server.close(done)) };
}

/** Subject and text of a mail, with its transfer encodings undone. */
function readable(raw) {
  const [head] = raw.split(/\r?\n\r?\n/, 1);
  const unfolded = head.replace(/\r?\n[ \t]+/g, " ");
  const subject = /^subject: (.*)$/im.exec(unfolded)?.[1] ?? "";
  const words = subject
    .replace(/\?=\s+=\?/g, "?==?")
    .replace(/=\?utf-8\?(b|q)\?([^?]*)\?=/gi, (_, how, text) =>
      how.toLowerCase() === "b" ? Buffer.from(text, "base64").toString("utf8") : unquote(text.replaceAll("_", " ")),
    );
  const part = /content-type: text\/plain[\s\S]*?\r?\n\r?\n([\s\S]*?)(?:\r?\n--|$)/i.exec(raw);
  const encoding = /content-transfer-encoding: (\S+)/i.exec(part?.[0] ?? "")?.[1]?.toLowerCase();
  const body = part?.[1] ?? "";
  const text =
    encoding === "base64"
      ? Buffer.from(body, "base64").toString("utf8")
      : encoding === "quoted-printable"
        ? unquote(body.replace(/=\r?\n/g, ""))
        : body;
  return { subject: words, text };
}

function unquote(text) {
  return Buffer.from(
    text.replace(/=([0-9A-F]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  ).toString("utf8");
}

/** A webhook receiver that checks signatures as Standard Webhooks says. */
export async function startWebhook() {
  const calls = [];
  const state = { secret: "" };
  const server = createHttp((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      calls.push({
        id: request.headers["webhook-id"],
        headers: request.headers,
        body: JSON.parse(body),
        signed: verify(state.secret, request.headers, body),
      });
      response.end("thanks");
    });
  });
  const port = await listening(server);
  return { calls, state, url: `http://127.0.0.1:${port}/hook`, stop: () => new Promise((done) => server.close(done)) };
}

function verify(secret, headers, body) {
  if (!secret) return null;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const wanted = createHmac("sha256", key)
    .update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`)
    .digest();
  return String(headers["webhook-signature"] ?? "")
    .split(" ")
    .some((part) => {
      const given = Buffer.from(part.replace(/^v1,/, ""), "base64");
      return given.length === wanted.length && timingSafeEqual(given, wanted);
    });
}
