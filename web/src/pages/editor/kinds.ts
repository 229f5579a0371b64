import type { ComponentType } from "react";
import { dns } from "./dns";
import type { EditorForm } from "./form";
import { grpc } from "./grpc";
import { heartbeat } from "./heartbeat";
import { http } from "./http";
import { icmp } from "./icmp";
import { smtp } from "./smtp";
import { tcp } from "./tcp";
import { tls } from "./tls";
import type { Values } from "./values";
import { websocket } from "./websocket";

/** Takes a field of a saved check, or what stands for it when it is missing; what nobody takes goes back as it came. */
export type Take = <T>(name: string, missing: T) => T;

/** Everything that the editor knows of a kind of check. A new kind is a file with one of these, and its place below. */
export interface Kind {
  /** As in `check.kind`. */
  kind: string;
  label: string;
  /** What it finds out, in a few words. */
  says: string;
  /** Locations look, and vote. */
  probed: boolean;
  /** What conditions can look at, the likeliest first; none: there are no conditions. */
  subjects: readonly string[];
  /** Whether enough is filled in for the server to look at it. */
  begun: (v: Values) => boolean;
  /** The fields of the check, without its kind. */
  toCheck: (v: Values) => Record<string, unknown>;
  fromCheck: (take: Take) => Partial<Values>;
  /** A name to propose. */
  name: (v: Values) => string;
  /** What is looked at; stands at the top of the form. */
  Target: ComponentType<TargetProps>;
  /** What is rarely changed; stands further down. */
  More: ComponentType<{ form: EditorForm }> | null;
}

export interface TargetProps {
  form: EditorForm;
  /** A new monitor. */
  fresh: boolean;
  /** Several addresses were pasted. */
  several: (addresses: string[]) => void;
}

export const kinds: readonly Kind[] = [http, tcp, tls, dns, icmp, websocket, grpc, smtp, heartbeat];

/** The kind that suits an address by its scheme, if one does. */
export function kindOfUrl(url: string): string | null {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url.trim())?.[1]?.toLowerCase() ?? "";
  return schemes[scheme] ?? null;
}

const schemes: Record<string, string> = {
  http: "http",
  https: "http",
  tcp: "tcp",
  tcps: "tcp",
  tls: "tls",
  icmp: "icmp",
  ws: "websocket",
  wss: "websocket",
  grpc: "grpc",
  grpcs: "grpc",
  smtp: "smtp",
  smtps: "smtp",
};

/** A kind that this page does not know yet is edited as far as it goes: everything but its check. */
export const kindOf = (kind: string): Kind =>
  kinds.find((one) => one.kind === kind) ?? { ...unknown, kind, label: kind };

const unknown: Kind = {
  kind: "",
  label: "",
  says: "",
  probed: true,
  subjects: [],
  begun: () => true,
  toCheck: () => ({}),
  fromCheck: () => ({}),
  name: () => "",
  Target: () => null,
  More: null,
};

/** The form when another kind is chosen: the host stays, and the conditions that the kind knows. */
export function asKind(v: Values, kind: string): Partial<Values> {
  const { subjects } = kindOf(kind);
  const scheme = first[kind];
  const host = /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)/i.exec(v.url.trim())?.[1] ?? "";
  const bare = host.replace(/^.*@/, "").replace(/:\d+$/, "");
  const known = v.assertions.filter((line) => subjects.includes(line.on));
  const status = { on: "status", arg: "", op: "in", value: "2xx" };
  return {
    kind,
    url: v.url.trim() === "" || !scheme || kindOfUrl(v.url) === kind ? v.url : `${scheme}://${bare}`,
    starttls: kind === "smtp" ? "required" : "",
    record_name: v.record_name === "" && kind === "dns" ? bare : v.record_name,
    assertions: kind === "http" && known.length === 0 ? [status] : kind === "http" ? known : known.filter(isMeant),
  };
}

/** The condition that every HTTP check begins with says nothing of another kind. */
const isMeant = (line: Values["assertions"][number]) => !(line.on === "status" && line.value === "2xx");

const first: Record<string, string> = {
  http: "https",
  tcp: "tcp",
  tls: "tls",
  icmp: "icmp",
  websocket: "wss",
  grpc: "grpcs",
  smtp: "smtp",
};
