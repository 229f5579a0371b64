import { Select, TextInput } from "@mantine/core";
import type { Kind, TargetProps } from "./kinds";
import { commonFrom, commonOf, FamilyField } from "./parts";

const types = ["A", "AAAA", "CNAME", "MX", "NS", "TXT", "CAA", "SOA", "SRV", "PTR"];

/** What a name server answers. */
export const dns: Kind = {
  kind: "dns",
  label: "DNS",
  says: "a name resolves to what it should",
  probed: true,
  subjects: ["record", "rcode", "latency_ms"],
  begun: (v) => v.record_name.trim() !== "",
  toCheck: (v) => ({
    name: v.record_name.trim(),
    type: v.record_type,
    ...(v.server.trim() === "" ? {} : { server: v.server.trim() }),
    ...(v.transport === "udp" ? {} : { transport: v.transport }),
    ...commonOf(v),
  }),
  fromCheck: (take) => ({
    record_name: take("name", ""),
    record_type: take("type", "A"),
    server: take("server", ""),
    transport: take("transport", "udp"),
    ...commonFrom(take),
  }),
  name: (v) => (v.record_name.trim() === "" ? "" : `${v.record_name.trim()} ${v.record_type}`),
  Target: ({ form, fresh }: TargetProps) => (
    <div className="fields">
      <TextInput
        label="Name to look up"
        description={fresh ? "For PTR an address is enough." : undefined}
        placeholder="shop.example"
        classNames={{ input: "mono-input" }}
        autoComplete="off"
        required
        {...form.getInputProps("record_name")}
      />
      <Select label="Record type" data={types} allowDeselect={false} {...form.getInputProps("record_type")} />
      <TextInput
        label="Name server"
        placeholder="the agent's resolver"
        classNames={{ input: "mono-input" }}
        {...form.getInputProps("server")}
      />
    </div>
  ),
  More: ({ form }) => (
    <details>
      <summary>Connection</summary>
      <div className="form">
        <div className="fields">
          <Select
            label="Transport"
            data={[
              { value: "udp", label: "UDP, and TCP for long answers" },
              { value: "tcp", label: "TCP" },
            ]}
            allowDeselect={false}
            {...form.getInputProps("transport")}
          />
          <FamilyField form={form} />
        </div>
      </div>
    </details>
  ),
};
