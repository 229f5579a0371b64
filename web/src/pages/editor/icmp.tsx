import { NumberInput } from "@mantine/core";
import type { Kind, TargetProps } from "./kinds";
import { AddressField, commonFrom, commonOf, endpointName, FamilyField, withScheme } from "./parts";

const EXAMPLE = "icmp://gw.example";

/** A host that answers echo requests. */
export const icmp: Kind = {
  kind: "icmp",
  label: "Ping",
  says: "a host answers echo requests",
  probed: true,
  subjects: ["loss_pct", "rtt_ms"],
  begun: (v) => v.url.trim() !== "",
  toCheck: (v) => ({
    url: withScheme(v.url, EXAMPLE),
    ...(v.count === "" ? {} : { count: v.count }),
    ...(v.size === "" ? {} : { size: v.size }),
    ...commonOf(v),
  }),
  fromCheck: (take) => ({
    url: take("url", ""),
    count: take<number | "">("count", ""),
    size: take<number | "">("size", ""),
    ...commonFrom(take),
  }),
  name: (v) => endpointName(v.url),
  Target: ({ form, fresh }: TargetProps) => (
    <AddressField
      form={form}
      fresh={fresh}
      placeholder={EXAMPLE}
      description="A host name or an address. Agents need leave to send echo requests; without it they say so."
    />
  ),
  More: ({ form }) => (
    <details>
      <summary>Requests</summary>
      <div className="form">
        <div className="fields">
          <NumberInput label="Echo requests" placeholder="3" min={1} max={20} {...form.getInputProps("count")} />
          <NumberInput label="Size" suffix=" bytes" placeholder="56 bytes" min={0} {...form.getInputProps("size")} />
          <FamilyField form={form} />
        </div>
      </div>
    </details>
  ),
};
