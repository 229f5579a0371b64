import { completeUrl, nameFor } from "./address";
import { HttpMore, HttpTarget } from "./HttpFields";
import type { Kind } from "./kinds";
import { commonFrom, commonOf, headersFrom, headersOf, tlsFrom, tlsOf } from "./parts";
import type { Values } from "./values";

export const http: Kind = {
  kind: "http",
  label: "HTTP",
  says: "an address answers as it should",
  probed: true,
  subjects: [
    "status",
    "latency_ms",
    "body",
    "json",
    "header",
    "size",
    "cert_days_left",
    "cert_issuer",
    "cert_fingerprint",
    "final_url",
    "redirects",
    "http_version",
  ],
  begun: (v) => v.url.trim() !== "",
  toCheck,
  fromCheck: (take) => {
    const auth = take<{ basic?: { username: string; password: string }; bearer?: string }>("auth", {});
    const maxBody = take<number | "">("max_body", "");
    return {
      url: take("url", ""),
      method: take("method", "GET"),
      headers: headersFrom(take<Record<string, string | string[]>>("headers", {})),
      body: take("body", ""),
      auth: auth.basic ? "basic" : auth.bearer !== undefined ? "bearer" : "none",
      username: auth.basic?.username ?? "",
      password: auth.basic?.password ?? "",
      token: auth.bearer ?? "",
      follow: take("follow_redirects", true),
      max_redirects: take<number | "">("max_redirects", ""),
      http_version: take("http_version", "auto"),
      proxy: take("proxy", ""),
      ...tlsFrom(take),
      max_body_kib: maxBody === "" ? "" : Math.round(maxBody / 1024),
      ...commonFrom(take),
    };
  },
  name: (v) => nameFor(v.url),
  Target: HttpTarget,
  More: HttpMore,
};

function toCheck(v: Values): Record<string, unknown> {
  const check: Record<string, unknown> = { url: completeUrl(v.url), method: v.method };
  const headers = headersOf(v.headers);
  if (headers) check.headers = headers;
  if (v.body !== "") check.body = v.body;
  if (v.auth === "basic") check.auth = { basic: { username: v.username, password: v.password } };
  if (v.auth === "bearer") check.auth = { bearer: v.token };
  if (!v.follow) check.follow_redirects = false;
  if (v.max_redirects !== "") check.max_redirects = v.max_redirects;
  if (v.http_version !== "auto") check.http_version = v.http_version;
  if (v.proxy.trim() !== "") check.proxy = v.proxy.trim();
  if (v.max_body_kib !== "") check.max_body = v.max_body_kib * 1024;
  return { ...check, ...tlsOf(v), ...commonOf(v) };
}
