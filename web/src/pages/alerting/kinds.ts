import type { Schemas } from "../../api/client";

export type Kind = Schemas["ChannelKind"];

/** One thing to enter for a channel. `secret` is never shown again; empty keeps the stored one. */
export interface Field {
  name: string;
  label: string;
  help: string;
  placeholder?: string;
  secret?: boolean;
  optional?: boolean;
}

export interface KindOf {
  kind: Kind;
  word: string;
  /** What a menu says beside it. */
  says: string;
  fields: readonly Field[];
  /** Headers may be sent along. */
  headers?: boolean;
  /** Where the address at which the other side calls back is to be entered there. */
  callback?: string;
}

const hook = (help: string, placeholder: string): readonly Field[] => [
  { name: "url", label: "Webhook address", help, placeholder, secret: true },
];

/** Mail is entered in a form of its own. */
export const kinds: readonly KindOf[] = [
  { kind: "email", word: "Mail", says: "one thread per incident; needs a mail server", fields: [] },
  {
    kind: "webhook",
    word: "Webhook",
    says: "signed JSON, retried for 3 days",
    headers: true,
    fields: [
      {
        name: "url",
        label: "Address",
        help: "Gets a signed POST (Standard Webhooks) for every change.",
        placeholder: "https://ops.example/hooks/quorate",
      },
    ],
  },
  {
    kind: "slack",
    word: "Slack",
    says: "a message in a channel, by an incoming webhook",
    fields: [
      ...hook("From the app's Incoming Webhooks; it belongs to one channel.", "https://hooks.slack.com/services/…"),
      {
        name: "signing_secret",
        label: "Signing secret",
        help: "From the app's Basic Information. With it messages get a button that acknowledges.",
        secret: true,
        optional: true,
      },
    ],
    callback: "Enter it in the Slack app under Interactivity & Shortcuts, as the request URL.",
  },
  {
    kind: "teams",
    word: "Teams",
    says: "an Adaptive Card, by a workflow",
    fields: hook(
      "From the workflow “Post to a channel when a webhook request is received”.",
      "https://….logic.azure.com/workflows/…",
    ),
  },
  {
    kind: "discord",
    word: "Discord",
    says: "a message in a channel, by a webhook",
    fields: hook("From the channel's Integrations, Webhooks.", "https://discord.com/api/webhooks/…"),
  },
  {
    kind: "telegram",
    word: "Telegram",
    says: "a message from your bot",
    fields: [
      {
        name: "token",
        label: "Bot token",
        help: "@BotFather gives it when the bot is made.",
        placeholder: "123456:AbC-dEf…",
        secret: true,
      },
      {
        name: "chat",
        label: "Chat",
        help: "The chat's number, or @name of a public channel. The bot must be in it.",
        placeholder: "-1001234567890",
      },
      { name: "thread", label: "Topic", help: "Its number, in a group with topics.", optional: true },
      {
        name: "server",
        label: "Server",
        help: "Only for a Bot API server of your own.",
        placeholder: "https://api.telegram.org",
        optional: true,
      },
    ],
  },
  {
    kind: "ntfy",
    word: "ntfy",
    says: "a push message to phones",
    fields: [
      { name: "topic", label: "Topic", help: "Whoever knows it hears, unless the server asks for a token." },
      { name: "server", label: "Server", help: "", placeholder: "https://ntfy.sh", optional: true },
      { name: "token", label: "Access token", help: "For a protected topic.", secret: true, optional: true },
    ],
  },
  {
    kind: "pagerduty",
    word: "PagerDuty",
    says: "pages whoever is on call; an alert closes with its incident",
    fields: [
      {
        name: "routing_key",
        label: "Integration key",
        help: "Of an Events API v2 integration of the service: 32 letters and digits.",
        secret: true,
      },
      {
        name: "server",
        label: "Server",
        help: "https://events.eu.pagerduty.com for accounts in Europe.",
        placeholder: "https://events.pagerduty.com",
        optional: true,
      },
      {
        name: "webhook_secret",
        label: "Webhook secret",
        help: "PagerDuty shows it once, when the webhook is made. With it what is acknowledged there is so here.",
        secret: true,
        optional: true,
      },
    ],
    callback: "Enter it in PagerDuty under Integrations, Generic Webhooks (v3), as the webhook URL.",
  },
  {
    kind: "alertmanager",
    word: "Alertmanager",
    says: "an alert with labels, routed by your own rules",
    headers: true,
    fields: [
      {
        name: "url",
        label: "Address",
        help: "Its base; api/v2/alerts is added. Of several, one that gossips with the rest is enough.",
        placeholder: "https://alertmanager.example:9093",
      },
    ],
  },
];

/** How a kind is told and entered; one that is not known here yet is told by its own word. */
export function kindOf(kind: Kind): KindOf {
  return kinds.find((k) => k.kind === kind) ?? { kind, word: kind, says: "", fields: [] };
}

/** Where a channel sends to, as far as it may be shown. */
export function destination(config: Readonly<Record<string, unknown>> & { to?: readonly string[] }): string {
  const text = (name: string) => (typeof config[name] === "string" ? config[name] : "");
  if (config.to) return config.to.join(", ");
  if (text("topic")) return `${text("server")}${text("topic")}`;
  if (text("chat")) return `chat ${text("chat")}`;
  return text("url") || text("server").replace(/^https?:\/\/|\/$/g, "");
}

/** `name: value` lines as an object; null when one is not such a line. */
export function headersOf(text: string): Record<string, string> | null {
  const out: Record<string, string> = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const at = line.indexOf(":");
    if (at < 1) return null;
    out[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return out;
}

/** What is sent of the entered fields: an empty secret is null, which keeps the stored one, unless it is to go. */
export function configOf(
  kind: KindOf,
  entered: Record<string, string>,
  gone: readonly string[] = [],
): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const field of kind.fields) {
    const text = (entered[field.name] ?? "").trim();
    if (text === "" && (field.optional || field.secret)) {
      if (field.secret) out[field.name] = gone.includes(field.name) ? "" : null;
      continue;
    }
    out[field.name] = field.name === "thread" && /^\d+$/.test(text) ? Number(text) : text;
  }
  return out;
}
