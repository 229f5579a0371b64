import { PasswordInput, Select, Switch, TagsInput, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { Fragment, useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Copy } from "../../components/Copy";
import { Refusal } from "../../components/Status";
import { showRefusal } from "../../lib/formErrors";
import { configOf, headersOf, kindOf, type Kind } from "./kinds";

type Channel = Schemas["Channel"];

interface Values {
  name: string;
  to: string[];
  /** By the name of the kind's field. */
  entered: Record<string, string>;
  /** Stored secrets that are to be taken away, by the name of their field. */
  gone: string[];
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

/** Where the other side calls back when somebody acknowledges there. */
function CalledBack({ callback, says }: { callback: Channel["callback"]; says: string }) {
  if (!callback)
    return <p className="muted">The address that the other side calls back is shown here once the channel is added.</p>;
  return (
    <div className="stack">
      <p>
        <b>
          {callback.ready ? "It is called back" : "It is called back, once the secret is entered,"} at this address.
        </b>{" "}
        {says}
      </p>
      <Copy text={callback.url} />
    </div>
  );
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
  const config = (channel?.config ?? {}) as Record<string, unknown> & {
    to?: string[];
    headers?: Record<string, string | null>;
  };
  const of = kindOf(kind);
  const form = useForm<Values>({
    initialValues: {
      name: channel?.name ?? "",
      to: config.to ?? [],
      entered: Object.fromEntries(
        of.fields.map((field) => [field.name, field.secret ? "" : String(config[field.name] ?? "")]),
      ),
      gone: [],
      headers: Object.entries(config.headers ?? {})
        .map(([name, value]) => `${name}: ${value ?? ""}`)
        .join("\n"),
      secret: "",
      default: channel?.default ?? true,
      min_severity: channel?.min_severity ?? (kind === "pagerduty" ? "down" : "degraded"),
    },
  });
  const submit = form.onSubmit((v) => {
    setRefused(null);
    const headers = headersOf(v.headers);
    if (of.headers && headers === null) return form.setFieldError("headers", "Write each as name: value, one a line.");
    const body = {
      name: v.name,
      config:
        kind === "email"
          ? { to: v.to }
          : {
              ...configOf(of, v.entered, v.gone),
              // An empty value keeps the stored one.
              ...(headers && Object.keys(headers).length > 0
                ? {
                    headers: Object.fromEntries(
                      Object.entries(headers).map(([name, value]) => [name, value === "" ? null : value]),
                    ),
                  }
                : {}),
            },
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
          if (f in v.entered) return `entered.${f}`;
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
        placeholder={kind === "email" ? "mail ops" : `${of.word.toLowerCase()} ops`}
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
          {of.fields.map((field) => {
            const Input = field.secret ? PasswordInput : TextInput;
            // One that may be missing is shown as hidden where it is there.
            const stored = field.secret && channel && (!field.optional || config[field.name] !== undefined);
            const kept = stored ? " Left empty, the stored one stays." : "";
            const goes = form.values.gone.includes(field.name);
            return (
              <Fragment key={field.name}>
                <Input
                  label={stored ? `New ${field.label.toLowerCase()}` : field.label}
                  description={`${field.help}${goes ? "" : kept}`.trim() || undefined}
                  placeholder={field.placeholder}
                  required={!field.optional && !(field.secret && channel)}
                  autoComplete="off"
                  {...form.getInputProps(`entered.${field.name}`)}
                />
                {stored && field.optional && (
                  <Switch
                    label={`Take the stored ${field.label.toLowerCase()} away`}
                    checked={goes}
                    onChange={(event) =>
                      form.setFieldValue(
                        "gone",
                        event.currentTarget.checked
                          ? [...form.values.gone, field.name]
                          : form.values.gone.filter((name) => name !== field.name),
                      )
                    }
                  />
                )}
              </Fragment>
            );
          })}
          {of.callback && <CalledBack callback={channel?.callback ?? null} says={of.callback} />}
          {of.headers && (
            <Textarea
              label="Headers"
              description="name: value, one a line. An empty value keeps the stored one."
              autosize
              minRows={1}
              {...form.getInputProps("headers")}
            />
          )}
          {kind === "webhook" && (
            <PasswordInput
              label={channel ? "New signing key" : "Signing key"}
              description={
                channel ? "Left empty, the stored one stays." : "whsec_…; left empty, one is made and shown once."
              }
              autoComplete="off"
              {...form.getInputProps("secret")}
            />
          )}
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
