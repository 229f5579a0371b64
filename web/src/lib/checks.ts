import { type Assertion, words } from "./assertions";
import { list } from "./format";

/** What of a check is told in words; each kind has some of it. */
export interface CheckFacts {
  kind?: string;
  url?: string;
  method?: string;
  name?: string;
  type?: string;
  server?: string;
  service?: string;
  starttls?: string;
  dialogue?: unknown[];
  send?: string;
  expect?: string;
  count?: number;
  tls?: { verify?: boolean };
  assertions?: Assertion[];
}

/** What has to hold while a check has no condition of its own, by kind. */
export const wellWords: Record<string, string> = {
  http: "the final status is 2xx",
  tcp: "the connection opens, and the dialogue goes through",
  tls: "chain and name are valid, and enough days are left",
  dns: "the name server answers NOERROR",
  icmp: "at least one reply comes",
  websocket: "the socket opens (101), and the awaited message comes",
  grpc: "the health service says SERVING",
  smtp: "the server greets, answers EHLO, and TLS is as asked",
};

/** What a check looks at: `GET https://…`, `MX of shop.example at 192.0.2.53`. */
export function lookWords(check: CheckFacts): string {
  switch (check.kind) {
    case "http":
    case undefined:
      return `${check.method ?? "GET"} ${check.url ?? ""}`;
    case "dns":
      return `${check.type ?? "A"} of ${check.name ?? ""}${check.server ? ` at ${check.server}` : ""}`;
    case "tcp":
      return `${check.url ?? ""}${check.dialogue?.length ? `, a dialogue of ${check.dialogue.length}` : ""}`;
    case "grpc":
      return `${check.url ?? ""}${check.service ? `, service ${check.service}` : ""}`;
    case "icmp":
      return `${check.count ?? 3} echo requests to ${(check.url ?? "").replace(/^icmp:\/\//i, "")}`;
    default:
      return check.url ?? "";
  }
}

/** Its conditions, or what holds without any. */
export const conditionWords = (check: CheckFacts): string =>
  check.assertions?.length ? list(check.assertions.map(words)) : (wellWords[check.kind ?? "http"] ?? "");

/** Whether locations are shown a certificate by it. */
export const showsCertificate = (check: CheckFacts): boolean =>
  check.kind === "tls" ||
  (check.kind === "smtp" && check.starttls !== "never") ||
  (check.kind === "tcp" && check.starttls !== undefined) ||
  /^(https|wss|grpcs|tcps|smtps):/i.test(check.url ?? "");
