import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { asKind, kindOfUrl, kinds } from "./kinds";
import { checkOf, fieldOf, fresh, proposedName, valuesOf } from "./values";

const saved = (check: Record<string, unknown>) =>
  valuesOf({
    name: "m",
    group: "",
    check,
    interval_s: 60,
    timeout_s: 10,
    locations: "all",
    policy: {},
    labels: {},
    channels: null,
    depends_on: [],
  } as unknown as Schemas["Monitor"]);

/** One of every kind, with every field that its form has. */
const checks: Record<string, unknown>[] = [
  {
    kind: "tcp",
    url: "tcp://mail.example:143",
    starttls: "imap",
    dialogue: [{ expect: "^\\* OK" }, { reject: "BYE" }, { send: "a LOGOUT\\r\\n" }, { expect: "^a OK" }],
    tls: { server_name: "mail.example", min_days_left: 7, later: 1 },
    ip_family: "6",
    assertions: [{ on: "banner", op: "contains", value: "ready" }],
  },
  { kind: "tls", url: "tls://shop.example:8443", starttls: "postgres", tls: { verify: false } },
  {
    kind: "dns",
    name: "shop.example",
    type: "MX",
    server: "192.0.2.53",
    transport: "tcp",
    ip_family: "4",
    assertions: [
      { on: "record", quantifier: "none", op: "eq", value: "10 old.example" },
      { on: "record", op: "exists" },
      { on: "rcode", op: "eq", value: "NOERROR" },
    ],
  },
  {
    kind: "icmp",
    url: "icmp://gw.example",
    count: 5,
    size: 100,
    assertions: [{ on: "loss_pct", op: "le", value: 20 }],
  },
  {
    kind: "websocket",
    url: "wss://live.example/feed?x=1",
    headers: { authorization: "(hidden)", "x-a": ["1", "2"] },
    subprotocol: "v1",
    send: '{"op":"ping"}',
    expect: "pong",
    tls: { min_days_left: 3 },
    assertions: [{ on: "json", path: "$.ok", op: "eq", value: true }],
  },
  {
    kind: "grpc",
    url: "grpcs://orders.example:8443",
    service: "shop.orders.v1.Orders",
    metadata: { "x-tenant": "7" },
    tls: { server_name: "orders.example" },
  },
  { kind: "smtp", url: "smtp://mail.example:587", starttls: "if_offered", ehlo_name: "probe.example" },
  { kind: "heartbeat", cron: "30 2 * * *", zone: "Europe/Berlin", grace_s: 60, max_run_s: 600 },
];

describe("the kinds of check", () => {
  for (const check of checks)
    it(`gives back ${check.kind} as it was saved, also what it does not show`, () => {
      expect(checkOf(saved({ ...check, something_new: 1 }))).toEqual({ ...check, something_new: 1 });
    });

  it("has a file for each, and each its own name", () => {
    const here = kinds.map((one) => one.kind).sort();
    expect(here).toEqual(["http", ...checks.map((check) => String(check.kind))].sort());
  });

  it("keeps the host when another kind is chosen, and only the conditions that it knows", () => {
    const v = {
      ...fresh,
      url: "https://shop.example:8443/health?x",
      assertions: [...fresh.assertions, { on: "cert_issuer", arg: "", op: "eq", value: "x" }],
    };
    const certificate = { ...v, ...asKind(v, "tls") };
    expect(checkOf(certificate)).toEqual({
      kind: "tls",
      url: "tls://shop.example",
      assertions: [{ on: "cert_issuer", op: "eq", value: "x" }],
    });
    expect(asKind(v, "dns").record_name).toBe("shop.example");
    expect(asKind(v, "websocket").assertions).toEqual([{ on: "cert_issuer", arg: "", op: "eq", value: "x" }]);
    const back = { ...certificate, ...asKind(certificate, "http") };
    expect(back.url).toBe("https://shop.example");
    expect({ ...fresh, ...asKind({ ...fresh, assertions: [] }, "http") }.assertions).toEqual(fresh.assertions);
  });

  it("knows the kind by the scheme of what is pasted, and proposes a name", () => {
    expect(kindOfUrl("smtps://mail.example")).toBe("smtp");
    expect(kindOfUrl("gopher://x")).toBeNull();
    expect(proposedName({ ...fresh, kind: "tcp", url: "tcp://db.example:5432" })).toBe("db.example:5432");
    expect(proposedName({ ...fresh, kind: "dns", record_name: "shop.example", record_type: "MX" })).toBe(
      "shop.example MX",
    );
  });

  it("finds the field that a refusal names", () => {
    expect(fieldOf("check.dialogue[1].expect")).toBe("dialogue.1.text");
    expect(fieldOf("check.name")).toBe("record_name");
    expect(fieldOf("name")).toBe("name");
    expect(fieldOf("check.type")).toBe("record_type");
    expect(fieldOf("check.metadata.x-a")).toBe("headers");
    expect(fieldOf("check.assertions[0].quantifier")).toBe("assertions.0.arg");
  });
});
