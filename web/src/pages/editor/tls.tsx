import { Select } from "@mantine/core";
import type { Kind, TargetProps } from "./kinds";
import {
  AddressField,
  commonFrom,
  commonOf,
  endpointName,
  FamilyField,
  TlsParts,
  tlsFrom,
  tlsOf,
  withScheme,
} from "./parts";
import { starttlsChoices } from "./tcp";

const EXAMPLE = "tls://shop.example";

/** A certificate, whatever is spoken behind it. */
export const tls: Kind = {
  kind: "tls",
  label: "TLS certificate",
  says: "a certificate is valid, and not for the last days",
  probed: true,
  subjects: ["cert_days_left", "cert_issuer", "cert_fingerprint", "latency_ms"],
  begun: (v) => v.url.trim() !== "",
  toCheck: (v) => ({
    url: withScheme(v.url, EXAMPLE),
    ...(v.starttls === "" ? {} : { starttls: v.starttls }),
    ...tlsOf(v),
    ...commonOf(v),
  }),
  fromCheck: (take) => ({
    url: take("url", ""),
    starttls: take("starttls", ""),
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
        description="tls://host, or tls://host:port for another port than 443."
      />
      <TlsParts form={form} days="14 days" />
    </>
  ),
  More: ({ form }) => (
    <details open={form.values.starttls !== "" || undefined}>
      <summary>Connection</summary>
      <div className="form">
        <div className="fields">
          <Select
            label="Turn to TLS first (STARTTLS)"
            data={starttlsChoices}
            allowDeselect={false}
            {...form.getInputProps("starttls")}
          />
          <FamilyField form={form} />
        </div>
      </div>
    </details>
  ),
};
