import { NumberInput, Select, Switch, TextInput } from "@mantine/core";
import { type Assertion, fromApi, toApi } from "../../lib/assertions";
import { nameFor } from "./address";
import type { EditorForm } from "./form";
import type { Take } from "./kinds";
import type { Values } from "./values";

/** Fields that several kinds of check share, and their way to the API and back. */

/** The address of a kind that is no web page. */
export function AddressField({
  form,
  fresh,
  placeholder,
  description,
}: {
  form: EditorForm;
  fresh: boolean;
  placeholder: string;
  description: string;
}) {
  const v = form.values;
  return (
    <TextInput
      label="Address"
      description={fresh ? description : undefined}
      placeholder={placeholder}
      classNames={{ input: "mono-input" }}
      autoComplete="off"
      inputMode="url"
      required
      {...form.getInputProps("url")}
      onBlur={() => {
        if (v.url.trim() !== "") form.setFieldValue("url", withScheme(v.url, placeholder));
      }}
    />
  );
}

/** An address with the scheme that people leave out: that of the example. */
export function withScheme(url: string, example: string): string {
  const text = url.trim();
  if (text === "" || /^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text;
  return `${example.split("://")[0]}://${text}`;
}

/** Host and port without the scheme: what people call such a monitor. */
export function endpointName(url: string): string {
  const rest = url.trim().replace(/^[a-z][a-z0-9+.-]*:\/\//i, "");
  return nameFor(`https://${rest}`) === "" ? "" : rest.replace(/\/+$/, "");
}

const familyChoices = [
  { value: "any", label: "IPv6 and IPv4, raced" },
  { value: "4", label: "IPv4 only" },
  { value: "6", label: "IPv6 only" },
];

export function FamilyField({ form }: { form: EditorForm }) {
  return <Select label="Addresses" data={familyChoices} allowDeselect={false} {...form.getInputProps("ip_family")} />;
}

/** What is asked of the certificate. */
export function TlsParts({ form, days }: { form: EditorForm; days: string }) {
  const v = form.values;
  return (
    <>
      <Switch label="Verify the certificate" {...form.getInputProps("verify", { type: "checkbox" })} />
      {!v.verify && (
        <p className="soft small">
          Without verifying, anybody between agent and server can answer. The certificate is still reported.
        </p>
      )}
      <div className="fields">
        <NumberInput
          label="Certificate days left, at least"
          suffix=" days"
          placeholder={days}
          min={0}
          {...form.getInputProps("min_days_left")}
        />
        <TextInput label="Server name (SNI)" placeholder="as in the address" {...form.getInputProps("server_name")} />
      </div>
    </>
  );
}

export function tlsOf(v: Values): Record<string, unknown> {
  const tls = {
    ...v.tls_rest,
    ...(v.verify ? {} : { verify: false }),
    ...(v.server_name.trim() === "" ? {} : { server_name: v.server_name.trim() }),
    ...(v.min_days_left === "" ? {} : { min_days_left: v.min_days_left }),
  };
  return Object.keys(tls).length > 0 ? { tls } : {};
}

export function tlsFrom(take: Take): Partial<Values> {
  const { verify, server_name, min_days_left, ...rest } = take<Record<string, unknown>>("tls", {});
  return {
    verify: verify !== false,
    server_name: (server_name as string | undefined) ?? "",
    min_days_left: (min_days_left as number | undefined) ?? "",
    tls_rest: rest,
  };
}

/** Address family and conditions, which every kind that is probed has. */
export function commonOf(v: Values): Record<string, unknown> {
  const assertions = v.assertions.map(toApi);
  return {
    ...(v.ip_family === "any" ? {} : { ip_family: v.ip_family }),
    ...(assertions.length > 0 ? { assertions } : {}),
  };
}

export const commonFrom = (take: Take): Partial<Values> => ({
  ip_family: String(take("ip_family", "any")),
  assertions: take<Assertion[]>("assertions", []).map(fromApi),
});

/** `{"name": "value"}`, or a list for a name that stands more than once. */
export function headersOf(lines: Values["headers"]): Record<string, string | string[]> | null {
  const out: Record<string, string | string[]> = {};
  for (const { name, value } of lines) {
    const key = name.trim();
    if (key === "") continue;
    const before = out[key];
    out[key] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  return Object.keys(out).length > 0 ? out : null;
}

export const headersFrom = (headers: Record<string, string | string[]>): Values["headers"] =>
  Object.entries(headers).flatMap(([name, value]) => [value].flat().map((v) => ({ name, value: v })));
