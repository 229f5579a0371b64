import { TextInput } from "@mantine/core";
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

const EXAMPLE = "grpcs://orders.example";

/** A gRPC server that says it is serving. */
export const grpc: Kind = {
  kind: "grpc",
  label: "gRPC health",
  says: "a gRPC service says it is serving",
  probed: true,
  subjects: ["latency_ms", "header", "cert_days_left", "cert_issuer", "cert_fingerprint"],
  begun: (v) => v.url.trim() !== "",
  toCheck: (v) => {
    const metadata = headersOf(v.headers);
    return {
      url: withScheme(v.url, EXAMPLE),
      ...(v.service.trim() === "" ? {} : { service: v.service.trim() }),
      ...(metadata ? { metadata } : {}),
      ...(/^grpcs:/i.test(withScheme(v.url, EXAMPLE)) ? tlsOf(v) : {}),
      ...commonOf(v),
    };
  },
  fromCheck: (take) => ({
    url: take("url", ""),
    service: take("service", ""),
    headers: headersFrom(take<Record<string, string | string[]>>("metadata", {})),
    ...tlsFrom(take),
    ...commonFrom(take),
  }),
  name: (v) => endpointName(v.url),
  Target: ({ form, fresh }: TargetProps) => (
    <div className="fields">
      <AddressField
        form={form}
        fresh={fresh}
        placeholder={EXAMPLE}
        description="grpc://host:port in plain text, or grpcs://host for TLS."
      />
      <TextInput
        label="Service"
        placeholder="the server as a whole"
        classNames={{ input: "mono-input" }}
        {...form.getInputProps("service")}
      />
    </div>
  ),
  More: ({ form }) => (
    <details open={form.values.headers.length > 0 || undefined}>
      <summary>Connection</summary>
      <div className="form">
        <HeaderLines form={form} word="entry" />
        <FamilyField form={form} />
        {/^grpcs:/i.test(withScheme(form.values.url, EXAMPLE)) && <TlsParts form={form} days="not looked at" />}
      </div>
    </details>
  ),
};
