import { type Assertion, fromApi, toApi } from "../../lib/assertions";
import { completeUrl, nameFor } from "./address";
import { HttpMore, HttpTarget } from "./HttpFields";
import type { Kind } from "./kinds";
import type { Values } from "./values";

export const http: Kind = {
  kind: "http",
  label: "HTTP",
  says: "an address answers as it should",
  probed: true,
  begun: (v) => v.url.trim() !== "",
  toCheck,
  fromCheck: (take) => {
    const auth = take<{ basic?: { username: string; password: string }; bearer?: string }>("auth", {});
    const { verify, server_name, min_days_left, ...otherTls } = take<Record<string, unknown>>("tls", {});
    const maxBody = take<number | "">("max_body", "");
    return {
      url: take("url", ""),
      method: take("method", "GET"),
      headers: Object.entries(take<Record<string, string | string[]>>("headers", {})).flatMap(([name, value]) =>
        [value].flat().map((v) => ({ name, value: v })),
      ),
      body: take("body", ""),
      auth: auth.basic ? "basic" : auth.bearer !== undefined ? "bearer" : "none",
      username: auth.basic?.username ?? "",
      password: auth.basic?.password ?? "",
      token: auth.bearer ?? "",
      follow: take("follow_redirects", true),
      max_redirects: take<number | "">("max_redirects", ""),
      http_version: take("http_version", "auto"),
      proxy: take("proxy", ""),
      verify: verify !== false,
      server_name: (server_name as string | undefined) ?? "",
      min_days_left: (min_days_left as number | undefined) ?? "",
      tls_rest: otherTls,
      ip_family: take("ip_family", "any"),
      max_body_kib: maxBody === "" ? "" : Math.round(maxBody / 1024),
      assertions: take<Assertion[]>("assertions", []).map(fromApi),
    };
  },
  name: (v) => nameFor(v.url),
  Target: HttpTarget,
  More: HttpMore,
};

function toCheck(v: Values): Record<string, unknown> {
  const check: Record<string, unknown> = { url: completeUrl(v.url), method: v.method };
  const headers = v.headers.filter((h) => h.name.trim() !== "");
  if (headers.length > 0) check.headers = headersOf(headers);
  if (v.body !== "") check.body = v.body;
  if (v.auth === "basic") check.auth = { basic: { username: v.username, password: v.password } };
  if (v.auth === "bearer") check.auth = { bearer: v.token };
  if (!v.follow) check.follow_redirects = false;
  if (v.max_redirects !== "") check.max_redirects = v.max_redirects;
  if (v.http_version !== "auto") check.http_version = v.http_version;
  if (v.proxy.trim() !== "") check.proxy = v.proxy.trim();
  const tls = {
    ...v.tls_rest,
    ...(v.verify ? {} : { verify: false }),
    ...(v.server_name.trim() === "" ? {} : { server_name: v.server_name.trim() }),
    ...(v.min_days_left === "" ? {} : { min_days_left: v.min_days_left }),
  };
  if (Object.keys(tls).length > 0) check.tls = tls;
  if (v.ip_family !== "any") check.ip_family = v.ip_family;
  if (v.max_body_kib !== "") check.max_body = v.max_body_kib * 1024;
  const assertions = v.assertions.map(toApi);
  if (assertions.length > 0) check.assertions = assertions;
  return check;
}

/** `{"name": "value"}`, or a list for a name that stands more than once. */
function headersOf(headers: Values["headers"]): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {};
  for (const { name, value } of headers) {
    const key = name.trim();
    const before = out[key];
    out[key] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  return out;
}
