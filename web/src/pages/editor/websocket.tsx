import { Textarea, TextInput } from "@mantine/core";
import { HeaderLines } from "./HeaderLines";
import type { Kind, TargetProps } from "./kinds";
import {
  AddressField,
  commonFrom,
  commonOf,
  endpointName,
  FamilyField,
  headersFrom,
  headersOf,
  TlsParts,
  tlsFrom,
  tlsOf,
  withScheme,
} from "./parts";

const EXAMPLE = "wss://live.example/feed";

/** A WebSocket that opens, and answers if asked. */
export const websocket: Kind = {
  kind: "websocket",
  label: "WebSocket",
  says: "a socket opens and answers",
  probed: true,
  subjects: [
    "status",
    "body",
    "json",
    "header",
    "latency_ms",
    "size",
    "cert_days_left",
    "cert_issuer",
    "cert_fingerprint",
  ],
  begun: (v) => v.url.trim() !== "",
  toCheck: (v) => {
    const headers = headersOf(v.headers);
    return {
      url: withScheme(v.url, EXAMPLE),
      ...(headers ? { headers } : {}),
      ...(v.subprotocol.trim() === "" ? {} : { subprotocol: v.subprotocol.trim() }),
      ...(v.send === "" ? {} : { send: v.send }),
      ...(v.expect === "" ? {} : { expect: v.expect }),
      ...(/^wss:/i.test(withScheme(v.url, EXAMPLE)) ? tlsOf(v) : {}),
      ...commonOf(v),
    };
  },
  fromCheck: (take) => ({
    url: take("url", ""),
    headers: headersFrom(take<Record<string, string | string[]>>("headers", {})),
    subprotocol: take("subprotocol", ""),
    send: take("send", ""),
    expect: take("expect", ""),
    ...tlsFrom(take),
    ...commonFrom(take),
  }),
  name: (v) => endpointName(v.url),
  Target: ({ form, fresh }: TargetProps) => (
    <>
      <AddressField
        form={form}
        fresh={fresh}
        placeholder={EXAMPLE}
        description="ws:// or wss://, with path and query."
      />
      <div className="fields">
        <Textarea
          label="Send"
          placeholder="nothing"
          autosize
          minRows={1}
          maxRows={8}
          classNames={{ input: "mono-input" }}
          {...form.getInputProps("send")}
        />
        <TextInput
          label="Wait for a message that matches"
          placeholder="no message awaited"
          description="A regular expression"
          classNames={{ input: "mono-input" }}
          {...form.getInputProps("expect")}
        />
      </div>
    </>
  ),
  More: ({ form }) => (
    <details open={form.values.headers.length > 0 || undefined}>
      <summary>Connection</summary>
      <div className="form">
        <HeaderLines form={form} />
        <div className="fields">
          <TextInput label="Subprotocol" placeholder="none" {...form.getInputProps("subprotocol")} />
          <FamilyField form={form} />
        </div>
        {/^wss:/i.test(withScheme(form.values.url, EXAMPLE)) && <TlsParts form={form} days="not looked at" />}
      </div>
    </details>
  ),
};
