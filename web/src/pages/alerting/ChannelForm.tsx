import { PasswordInput, Select, Switch, TagsInput, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Refusal } from "../../components/Status";
import { showRefusal } from "../../lib/formErrors";

type Channel = Schemas["Channel"];
type Kind = Schemas["ChannelKind"];

interface Values {
  name: string;
  to: string[];
  url: string;
  headers: string;
  secret: string;
  default: boolean;
  min_severity: string;
}

export const severities = [
  { value: "degraded", label: "slow and worse" },
  { value: "partial", label: "partial and worse" },
  { value: "down", label: "down only" },
];

function headersOf(text: string): Record<string, string> | null {
  const out: Record<string, string> = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const at = line.indexOf(":");
    if (at < 1) return null;
    out[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return out;
}

/** Adds a channel of a kind, or changes one. `done` gets the signing key when one was made. */
export function ChannelForm({
  kind,
  channel,
  done,
}: {
  kind: Kind;
  channel?: Channel;
  done: (saved: { channel: Channel; secret: string | null }) => void;
}) {
  const create = api.useMutation("post", "/api/v1/channels");
  const change = api.useMutation("patch", "/api/v1/channels/{id}");
  const [refused, setRefused] = useState<string | null>(null);
  const config = (channel?.config ?? {}) as { to?: string[]; url?: string; headers?: Record<string, string> };
  const form = useForm<Values>({
    initialValues: {
      name: channel?.name ?? "",
      to: config.to ?? [],
      url: config.url ?? "",
      headers: Object.entries(config.headers ?? {})
        .map(([name, value]) => `${name}: ${value}`)
        .join("\n"),
      secret: "",
      default: channel?.default ?? true,
      min_severity: channel?.min_severity ?? "degraded",
    },
  });
  const submit = form.onSubmit((v) => {
    setRefused(null);
    const headers = headersOf(v.headers);
    if (kind === "webhook" && headers === null)
      return form.setFieldError("headers", "Write each as name: value, one a line.");
    const body = {
      name: v.name,
      config:
        kind === "email"
          ? { to: v.to }
          : { url: v.url.trim(), ...(headers && Object.keys(headers).length > 0 ? { headers } : {}) },
      default: v.default,
      min_severity: v.min_severity as Schemas["Severity"],
      ...(v.secret === "" ? {} : { secret: v.secret }),
    };
    const onError = (error: unknown) =>
      setRefused(
        showRefusal(form, error, (field) => {
          const f = field
            .replace(/^config\./, "")
            .replace(/\[.*$/, "")
            .replace(/\..*$/, "");
          return f in v ? f : null;
        }),
      );
    if (channel)
      change.mutate(
        { params: { path: { id: channel.id } }, body },
        { onSuccess: (saved) => done({ channel: saved, secret: null }), onError },
      );
    else
      create.mutate(
        { body: { ...body, kind, enabled: true } },
        { onSuccess: (saved) => done({ channel: saved, secret: saved.secret ?? null }), onError },
      );
  });
  return (
    <form className="form" onSubmit={submit} noValidate>
      <TextInput
        label="Name"
        placeholder={kind === "email" ? "mail ops" : "ops bus"}
        required
        data-autofocus
        {...form.getInputProps("name")}
      />
      {kind === "email" ? (
        <TagsInput
          label="To"
          description="One address, then Enter; several are fine."
          placeholder={form.values.to.length === 0 ? "ops@shop.example" : ""}
          splitChars={[",", " ", ";"]}
          acceptValueOnBlur
          comboboxProps={{ transitionProps: { duration: 0 } }}
          {...form.getInputProps("to")}
        />
      ) : (
        <>
          <TextInput
            label="Address"
            description="Gets a signed POST (Standard Webhooks) for every change."
            placeholder="https://ops.example/hooks/quorate"
            required
            {...form.getInputProps("url")}
          />
          <Textarea
            label="Headers"
            description="name: value, one a line"
            autosize
            minRows={1}
            {...form.getInputProps("headers")}
          />
          <PasswordInput
            label={channel ? "New signing key" : "Signing key"}
            description={
              channel ? "Left empty, the stored one stays." : "whsec_…; left empty, one is made and shown once."
            }
            autoComplete="off"
            {...form.getInputProps("secret")}
          />
        </>
      )}
      <Select label="Hears" data={severities} {...form.getInputProps("min_severity")} />
      <Switch
        label="Default: hears every monitor that names no channel of its own"
        {...form.getInputProps("default", { type: "checkbox" })}
      />
      {refused && <Refusal>{refused}</Refusal>}
      <div className="actions">
        <Button primary type="submit" busy={create.isPending || change.isPending}>
          {channel ? "Save" : "Add and send a test"}
        </Button>
      </div>
    </form>
  );
}
