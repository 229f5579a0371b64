import type { Schemas } from "../api/client";
import type { Line } from "./assertions";

type Observation = Schemas["Observation"];

/** A value that a probe saw, and the condition that holds it fast. */
export interface Suggestion {
  /** What was looked at, as people say it: `header content-type`, `$.status`. */
  what: string;
  /** What was there, shortened. */
  seen: string;
  line: Line;
}

/** Headers that differ from one answer to the next: a condition on their value would fail by itself. */
const restless =
  /^(date|age|expires|etag|last-modified|set-cookie|content-length|connection|keep-alive|alt-svc|nel|report-to|via|server-timing|.*-(id|ray|trace|span|nonce|timing|hits|age))$/;
const MOST_LEAVES = 60;
const SHOWN = 120;

/** Every value of an answer that a condition could be made of; the ones that say most stand first. */
export function suggestions(seen: Observation): Suggestion[] {
  const evidence = seen.evidence;
  const out: Suggestion[] = [];
  const add = (what: string, shown: string, line: Line) => out.push({ what, seen: shorten(shown), line });
  for (const [path, value] of leaves(evidence?.body ?? null))
    add(path, JSON.stringify(value), { on: "json", arg: path, op: "eq", value: JSON.stringify(value) });
  const title = /<title[^>]*>\s*([^<]{1,100}?)\s*<\/title>/i.exec(evidence?.body ?? "")?.[1];
  if (title) add("title in the body", title, { on: "body", arg: "", op: "contains", value: title });
  if (seen.status != null)
    add("status", String(seen.status), { on: "status", arg: "", op: "eq", value: String(seen.status) });
  for (const { label, value } of evidence?.facts ?? []) {
    if (label === "record") add("record", value, { on: "record", arg: "any", op: "eq", value });
    if (label === "response code") add("response code", value, { on: "rcode", arg: "", op: "eq", value });
    if (label === "banner") add("banner", value, { on: "banner", arg: "", op: "contains", value: value.trim() });
  }
  const total = seen.phases_us?.total;
  if (total)
    add("latency", `${Math.ceil(total / 1000)} ms`, {
      on: "latency_ms",
      arg: "",
      op: "le",
      value: String(room(total)),
    });
  const certificate = seen.certificate;
  if (certificate) {
    add("certificate days left", String(certificate.days_left), {
      on: "cert_days_left",
      arg: "",
      op: "ge",
      value: "14",
    });
    add("certificate issuer", certificate.issuer, {
      on: "cert_issuer",
      arg: "",
      op: "eq",
      value: certificate.issuer,
    });
  }
  for (const [name, values] of Object.entries(evidence?.headers ?? {}).sort(([a], [b]) => a.localeCompare(b))) {
    const value = values[0];
    if (value && !restless.test(name) && !value.includes("(hidden)"))
      add(`header ${name}`, value, { on: "header", arg: name, op: "eq", value });
  }
  if (evidence?.final_url && (seen.hops ?? []).length > 0)
    add("final address", evidence.final_url, { on: "final_url", arg: "", op: "eq", value: evidence.final_url });
  return out;
}

/** Half as much again, to the next 100 ms: an ordinary day must not break it. */
const room = (micros: number) => Math.ceil((micros * 1.5) / 100_000) * 100;

const shorten = (text: string) => (text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);

/** The single values of a JSON body with their paths. A body that is cut, or is no JSON, has none. */
function leaves(body: string | null): [string, unknown][] {
  let document: unknown;
  try {
    document = JSON.parse(body ?? "");
  } catch {
    return [];
  }
  const out: [string, unknown][] = [];
  const walk = (value: unknown, path: string, depth: number) => {
    if (out.length >= MOST_LEAVES || depth > 8) return;
    if (Array.isArray(value))
      for (const [i, item] of value.slice(0, 3).entries()) walk(item, `${path}[${i}]`, depth + 1);
    else if (value !== null && typeof value === "object")
      for (const [name, item] of Object.entries(value)) walk(item, path + member(name), depth + 1);
    else if (exact(value)) out.push([path, value]);
  };
  walk(document, "$", 0);
  return out;
}

/** Numbers that this browser cannot hold exactly, and hidden secrets, would make a condition that is wrong. */
function exact(value: unknown): boolean {
  if (typeof value === "number") return Number.isSafeInteger(value) || !Number.isInteger(value);
  return typeof value !== "string" || !value.includes("(hidden)");
}

/** `.name`, or `['odd name']` where the short form does not reach. */
function member(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? `.${name}` : `['${name.replace(/[\\']/g, "\\$&")}']`;
}
