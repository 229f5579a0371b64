import { expect, test } from "vitest";
import { conditionWords, lookWords, showsCertificate } from "./checks";

test("each kind says what it looks at", () => {
  expect(lookWords({ kind: "http", url: "https://shop.example", method: "HEAD" })).toBe("HEAD https://shop.example");
  expect(lookWords({ kind: "dns", name: "shop.example", type: "MX", server: "192.0.2.53" })).toBe(
    "MX of shop.example at 192.0.2.53",
  );
  expect(lookWords({ kind: "tcp", url: "tcp://db.example:5432", dialogue: [{}, {}] })).toBe(
    "tcp://db.example:5432, a dialogue of 2",
  );
  expect(lookWords({ kind: "icmp", url: "icmp://gw.example" })).toBe("3 echo requests to gw.example");
  expect(lookWords({ kind: "tls", url: "tls://shop.example" })).toBe("tls://shop.example");
});

test("conditions in words, or what holds without any", () => {
  expect(conditionWords({ kind: "grpc" })).toBe("the health service says SERVING");
  expect(
    conditionWords({ kind: "dns", assertions: [{ on: "record", quantifier: "none", op: "eq", value: "192.0.2.1" }] }),
  ).toBe("no record is 192.0.2.1");
});

test("a certificate is expected where there is TLS", () => {
  expect(showsCertificate({ kind: "http", url: "http://a.example" })).toBe(false);
  expect(showsCertificate({ kind: "websocket", url: "wss://a.example" })).toBe(true);
  expect(showsCertificate({ kind: "tcp", url: "tcp://a.example:25", starttls: "smtp" })).toBe(true);
  expect(showsCertificate({ kind: "smtp", url: "smtp://a.example" })).toBe(true);
});
