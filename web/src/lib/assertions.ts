/**
 * Conditions as people edit them, one line each, and as the API takes them. Types are not guessed:
 * what a JSON path must equal is written as a JSON value, `"EUR"` with its quotes.
 */

/** A condition of the API. */
export interface Assertion {
  on: string;
  name?: string;
  path?: string;
  quantifier?: string;
  op: string;
  value?: unknown;
}

/** One line of the form; `arg` is the header's name, the JSON path or how many records, `value` is text. */
export interface Line {
  on: string;
  arg: string;
  op: string;
  value: string;
}

type Kind = "status" | "number" | "text" | "json";

export const subjects: readonly {
  on: string;
  word: string;
  kind: Kind;
  arg?: "name" | "path" | "quantifier";
  unit?: string;
}[] = [
  { on: "status", word: "status", kind: "status" },
  { on: "latency_ms", word: "latency", kind: "number", unit: "ms" },
  { on: "body", word: "body", kind: "text" },
  { on: "json", word: "JSON at", kind: "json", arg: "path" },
  { on: "header", word: "header", kind: "text", arg: "name" },
  { on: "size", word: "size", kind: "number", unit: "bytes" },
  { on: "cert_days_left", word: "certificate days left", kind: "number", unit: "days" },
  { on: "cert_issuer", word: "certificate issuer", kind: "text" },
  { on: "cert_fingerprint", word: "certificate fingerprint", kind: "text" },
  { on: "final_url", word: "final address", kind: "text" },
  { on: "redirects", word: "redirects", kind: "number" },
  { on: "http_version", word: "HTTP version", kind: "text" },
  { on: "record", word: "record", kind: "text", arg: "quantifier" },
  { on: "rcode", word: "response code", kind: "text" },
  { on: "rtt_ms", word: "round trip", kind: "number", unit: "ms" },
  { on: "loss_pct", word: "loss", kind: "number", unit: "%" },
  { on: "banner", word: "banner", kind: "text" },
];

export const opWords: Record<string, string> = {
  eq: "is",
  ne: "is not",
  lt: "<",
  le: "≤",
  gt: ">",
  ge: "≥",
  in: "in",
  not_in: "not in",
  contains: "contains",
  not_contains: "does not contain",
  matches: "matches",
  not_matches: "does not match",
  exists: "exists",
  absent: "is absent",
  len_eq: "has length",
  len_lt: "is shorter than",
  len_gt: "is longer than",
};

const compare = ["eq", "ne", "lt", "le", "gt", "ge"];
const ops: Record<Kind, readonly string[]> = {
  status: ["in", "not_in", "eq", "ne"],
  number: ["le", "ge", "lt", "gt", "eq", "ne"],
  text: [
    "contains",
    "not_contains",
    "eq",
    "ne",
    "matches",
    "not_matches",
    "in",
    "not_in",
    "exists",
    "absent",
    "len_eq",
    "len_lt",
    "len_gt",
  ],
  json: [
    ...compare,
    "contains",
    "not_contains",
    "matches",
    "not_matches",
    "in",
    "not_in",
    "exists",
    "absent",
    "len_eq",
    "len_lt",
    "len_gt",
  ],
};

export const kindOf = (on: string): Kind => subjects.find((s) => s.on === on)?.kind ?? "text";
export const argOf = (on: string) => subjects.find((s) => s.on === on)?.arg ?? null;
/** What the argument of a subject is at first. */
export const startOf = (on: string) => (argOf(on) === "quantifier" ? "any" : "");
export const opsOf = (on: string): readonly string[] => ops[kindOf(on)];
export const takesValue = (op: string) => op !== "exists" && op !== "absent";

/** What the value's field shows while it is empty. */
export function hint(on: string, op: string): string {
  if (op.startsWith("len_")) return "12";
  if (op === "matches" || op === "not_matches") return "^ok\\b";
  switch (kindOf(on)) {
    case "status":
      return op === "in" || op === "not_in" ? "2xx, 304, 200-299" : "200";
    case "number":
      return "800";
    case "json":
      return op === "in" || op === "not_in" ? '["a", "b"]' : '"ok", 5, true';
    case "text":
      return op === "in" || op === "not_in" ? "one, two" : "";
  }
}

/** A line as the API takes it. Text that is not of the wanted type goes as it is, for the server to refuse. */
export function toApi(line: Line): Assertion {
  const arg = argOf(line.on);
  const said = arg && !(arg === "quantifier" && line.arg === startOf(line.on));
  const out: Assertion = { on: line.on, ...(said ? { [arg]: line.arg.trim() } : {}), op: line.op };
  if (takesValue(line.op)) out.value = literalOf(line);
  return out;
}

function literalOf({ on, op, value }: Line): unknown {
  const many = op === "in" || op === "not_in";
  if (op.startsWith("len_")) return numberOr(value);
  if (op === "matches" || op === "not_matches") return value;
  const kind = kindOf(on);
  if (kind === "json") return jsonOr(value);
  if (many) {
    const parts = value
      .split(",")
      .map((v) => v.trim())
      .filter((v) => v !== "");
    return kind === "text" ? parts : parts.map((v) => (/^\d+$/.test(v) ? Number(v) : v));
  }
  return kind === "text" ? value : numberOr(value);
}

function numberOr(text: string): unknown {
  const t = text.trim();
  return /^-?\d+(\.\d+)?$/.test(t) ? Number(t) : t;
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A condition of the API as a line of the form. */
export function fromApi(a: Assertion): Line {
  const kind = kindOf(a.on);
  const plainText = a.op.startsWith("len_") || a.op === "matches" || a.op === "not_matches";
  const value =
    a.value === undefined || a.value === null
      ? kind === "json" && a.value === null
        ? "null"
        : ""
      : kind === "json" && !plainText
        ? JSON.stringify(a.value)
        : Array.isArray(a.value)
          ? a.value.join(", ")
          : String(a.value);
  return {
    on: a.on,
    arg: a.name ?? a.path ?? a.quantifier ?? startOf(a.on),
    op: a.op,
    value: takesValue(a.op) ? value : "",
  };
}

/** A condition in a few words: `status in 2xx`, `$.status is "ok"`. */
export function words(a: Assertion): string {
  const line = fromApi(a);
  const subject = subjects.find((s) => s.on === a.on);
  const what =
    a.on === "json"
      ? line.arg
      : a.on === "header"
        ? `header ${line.arg}`
        : a.on === "record"
          ? `${line.arg === "any" ? "a" : line.arg === "all" ? "every" : "no"} record`
          : (subject?.word ?? a.on);
  const unit = subject?.unit && takesValue(a.op) && !a.op.startsWith("len_") ? `\u00a0${subject.unit}` : "";
  return [what, opWords[a.op] ?? a.op, line.value + unit].filter((w) => w !== "").join(" ");
}
