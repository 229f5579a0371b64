import { NativeSelect, NumberInput, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Refusal } from "../../components/Status";
import { showRefusal } from "../../lib/formErrors";

type Source = Schemas["FleetSource"];

const formats = [
  "nginx-combined",
  "nginx-json",
  "ingress-nginx",
  "nginx-error",
  "apache-common",
  "apache-combined",
  "apache-vhost",
  "haproxy",
  "envoy",
  "envoy-json",
  "aws-alb",
  "aws-alb-health",
  "traefik-json",
  "caddy-json",
  "generic-json",
];

type Mapping = Schemas["LogMapping"];

/** A mapping as lines of field=key. */
function lines(mapping: Mapping | null | undefined): string {
  return Object.entries(mapping ?? {})
    .filter(([, key]) => key != null && key !== false)
    .map(([field, key]) => `${field}=${String(key)}`)
    .join("\n");
}

/** The mapping that the lines say, if any; what its fields are is the coordinator's to judge. */
function keys(text: string): Mapping | null {
  const said = text.split("\n").filter((line) => line.trim() !== "");
  if (said.length === 0) return null;
  const pairs = said.map((line): [string, string | boolean] => {
    const at = line.indexOf("=");
    const field = (at < 0 ? line : line.slice(0, at)).trim();
    const key = at < 0 ? "" : line.slice(at + 1).trim();
    return [field, key === "true" ? true : key === "false" ? false : key];
  });
  return Object.fromEntries(pairs) as Mapping;
}

/** How a source is read, what it is called, and how long it may be silent. */
export function SourceForm({
  fleet,
  source,
  done,
  remove,
}: {
  fleet: Schemas["Fleet"];
  source: Source;
  done: (saved: Source) => void;
  remove: () => void;
}) {
  const save = api.useMutation("put", "/api/v1/fleets/{id}/sources/{source}");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({
    initialValues: {
      name: source.name,
      patience_s: (source.patience_s ?? "") as number | "",
      role: source.role as string,
      format: source.format_set ? (source.format ?? "") : "",
      log_format: source.log_format ?? "",
      mapping: lines(source.mapping),
      tz: source.tz ?? "",
    },
  });
  const optional = (text: string) => (text.trim() === "" ? null : text.trim());
  return (
    <form
      className="form"
      onSubmit={form.onSubmit((values) => {
        setRefused(null);
        save.mutate(
          {
            params: { path: { id: fleet.id, source: source.name } },
            body: {
              role: values.role as Source["role"],
              format: optional(values.log_format) || optional(values.mapping) ? null : optional(values.format),
              log_format: optional(values.log_format),
              mapping: keys(values.mapping),
              tz: optional(values.tz),
              patience_s: values.patience_s === "" ? null : values.patience_s,
              ...(values.name.trim() === source.name ? {} : { name: values.name }),
            },
          },
          {
            onSuccess: done,
            onError: (error) =>
              setRefused(
                showRefusal(form, error, (f) =>
                  f.split(".")[0] === "mapping" ? "mapping" : f in form.getValues() ? f : null,
                ),
              ),
          },
        );
      })}
    >
      <div className="fields">
        <TextInput
          label="Name"
          description={
            source.role === "instance"
              ? "Senders may go on using the old one, and its instance is called so too, its past included."
              : "Senders may go on using the old one."
          }
          required
          {...form.getInputProps("name")}
        />
        <NumberInput
          label="Silent at most"
          description="So long its lines are waited for, and what it told counts as known. Empty: 60 s, of an ALB's files 600 s."
          suffix=" s"
          min={10}
          max={86_400}
          allowDecimal={false}
          {...form.getInputProps("patience_s")}
        />
      </div>
      <NativeSelect
        label="What its lines tell of"
        data={[
          { value: "balancer", label: "A balancer: requests to all instances" },
          { value: "instance", label: "An instance: its own requests" },
        ]}
        {...form.getInputProps("role")}
      />
      <NativeSelect
        label="Format"
        data={[{ value: "", label: "Find it out" }, ...formats]}
        {...form.getInputProps("format")}
      />
      <Textarea
        label="nginx log_format"
        description="As it stands in its configuration, if it is one of your own. It then counts instead of the format."
        autosize
        minRows={2}
        classNames={{ input: "mono-input" }}
        {...form.getInputProps("log_format")}
      />
      <Textarea
        label="Keys of JSON lines"
        description="One field=key a line, such as time=when and status=answer.code, for JSON of your own. It then counts instead of the format."
        autosize
        minRows={2}
        classNames={{ input: "mono-input" }}
        {...form.getInputProps("mapping")}
      />
      <TextInput
        label="Time zone"
        description="Of times that carry none, such as Europe/Berlin. Empty: UTC."
        {...form.getInputProps("tz")}
      />
      {refused && <Refusal>{refused}</Refusal>}
      <div className="actions">
        <Button primary type="submit" busy={save.isPending}>
          Save
        </Button>
        <Button onClick={remove}>Delete…</Button>
      </div>
    </form>
  );
}
