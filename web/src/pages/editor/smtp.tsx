import { Select, TextInput } from "@mantine/core";
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

const EXAMPLE = "smtp://mail.example";

const choices = [
  { value: "required", label: "must be offered" },
  { value: "if_offered", label: "used if it is offered" },
  { value: "never", label: "not used" },
];

const isPlain = (url: string) => !/^smtps:/i.test(url.trim());

/** A mail server that takes mail. */
export const smtp: Kind = {
  kind: "smtp",
  label: "Mail server",
  says: "a mail server greets and offers TLS",
  probed: true,
  subjects: ["latency_ms", "banner", "cert_days_left", "cert_issuer", "cert_fingerprint"],
  begun: (v) => v.url.trim() !== "",
  toCheck: (v) => ({
    url: withScheme(v.url, EXAMPLE),
    ...(isPlain(v.url) && v.starttls !== "required" ? { starttls: v.starttls } : {}),
    ...(v.ehlo_name.trim() === "" ? {} : { ehlo_name: v.ehlo_name.trim() }),
    ...(isPlain(v.url) && v.starttls === "never" ? {} : tlsOf(v)),
    ...commonOf(v),
  }),
  fromCheck: (take) => ({
    url: take("url", ""),
    starttls: take("starttls", "required"),
    ehlo_name: take("ehlo_name", ""),
    ...tlsFrom(take),
    ...commonFrom(take),
  }),
  name: (v) => endpointName(v.url),
  Target: ({ form, fresh }: TargetProps) => (
    <AddressField
      form={form}
      fresh={fresh}
      placeholder={EXAMPLE}
      description="smtp://host (port 25, or :587), or smtps://host for TLS from the first byte (port 465)."
    />
  ),
  More: ({ form }) => (
    <details>
      <summary>Connection</summary>
      <div className="form">
        <div className="fields">
          {isPlain(form.values.url) && (
            <Select label="STARTTLS" data={choices} allowDeselect={false} {...form.getInputProps("starttls")} />
          )}
          <TextInput
            label="Name in EHLO"
            placeholder="the agent's address"
            description="Some servers want one that resolves."
            {...form.getInputProps("ehlo_name")}
          />
          <FamilyField form={form} />
        </div>
        {!(isPlain(form.values.url) && form.values.starttls === "never") && (
          <TlsParts form={form} days="not looked at" />
        )}
      </div>
    </details>
  ),
};
