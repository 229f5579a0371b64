import { Select, TextInput } from "@mantine/core";
import { Button } from "../../components/Button";
import type { EditorForm } from "./form";
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
import type { Values } from "./values";

const EXAMPLE = "tcp://db.example:5432";

export const starttlsChoices = [
  { value: "", label: "no" },
  { value: "smtp", label: "as SMTP does" },
  { value: "imap", label: "as IMAP does" },
  { value: "pop3", label: "as POP3 does" },
  { value: "ftp", label: "as FTP does" },
  { value: "postgres", label: "as Postgres does" },
];

type Step = Values["dialogue"][number];
type Said = { send?: string; expect?: string; reject?: string };

/** A port, and what is said on it. */
export const tcp: Kind = {
  kind: "tcp",
  label: "TCP",
  says: "a port takes connections and answers",
  probed: true,
  subjects: ["latency_ms", "banner", "cert_days_left", "cert_issuer", "cert_fingerprint"],
  begun: (v) => v.url.trim() !== "",
  toCheck: (v) => ({
    url: withScheme(v.url, EXAMPLE),
    ...(v.starttls === "" ? {} : { starttls: v.starttls }),
    ...(v.dialogue.length > 0 ? { dialogue: v.dialogue.map(({ step, text }) => ({ [step]: text })) } : {}),
    ...(isEncrypted(v) ? tlsOf(v) : {}),
    ...commonOf(v),
  }),
  fromCheck: (take) => ({
    url: take("url", ""),
    starttls: take("starttls", ""),
    dialogue: take<Said[]>("dialogue", []).map(stepOf),
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
        description="tcp://host:port, or tcps://host:port for TLS from the first byte."
      />
      <Dialogue form={form} />
    </>
  ),
  More: ({ form }) => (
    <details open={form.values.starttls !== "" || undefined}>
      <summary>Connection</summary>
      <div className="form">
        <div className="fields">
          {!form.values.url.startsWith("tcps:") && (
            <Select
              label="Turn to TLS first (STARTTLS)"
              data={starttlsChoices}
              allowDeselect={false}
              {...form.getInputProps("starttls")}
            />
          )}
          <FamilyField form={form} />
        </div>
        {isEncrypted(form.values) && <TlsParts form={form} days="not looked at" />}
      </div>
    </details>
  ),
};

const isEncrypted = (v: Values) => v.starttls !== "" || /^tcps:/i.test(v.url.trim());

function stepOf(said: Said): Step {
  if (said.send !== undefined) return { step: "send", text: said.send };
  if (said.expect !== undefined) return { step: "expect", text: said.expect };
  return { step: "reject", text: said.reject ?? "" };
}

const stepWords = [
  { value: "send", label: "send" },
  { value: "expect", label: "wait for" },
  { value: "reject", label: "fail on" },
];

/** What is said and heard in turn. */
function Dialogue({ form }: { form: EditorForm }) {
  const steps = form.values.dialogue;
  return (
    <fieldset>
      <legend>Dialogue</legend>
      <div className="stack">
        <p className="muted small">
          {steps.length === 0
            ? "Nothing is said: an open port is enough."
            : "In this order. \\r\\n ends a line; what is waited for is a regular expression."}
        </p>
        {steps.map((step, i) => (
          <div className="line dialogue" key={i}>
            <Select
              aria-label={`Step ${i + 1}`}
              data={stepWords}
              allowDeselect={false}
              {...form.getInputProps(`dialogue.${i}.step`)}
            />
            <TextInput
              aria-label={`Text of step ${i + 1}`}
              placeholder={step.step === "send" ? "PING\\r\\n" : "^\\+PONG"}
              classNames={{ input: "mono-input" }}
              {...form.getInputProps(`dialogue.${i}.text`)}
            />
            <Button compact aria-label={`Remove step ${i + 1}`} onClick={() => form.removeListItem("dialogue", i)}>
              ×
            </Button>
          </div>
        ))}
        {form.errors.dialogue && <p className="refusal">{form.errors.dialogue}</p>}
        <div>
          <button
            type="button"
            className="link"
            onClick={() =>
              form.insertListItem("dialogue", { step: steps.at(-1)?.step === "send" ? "expect" : "send", text: "" })
            }
          >
            Add a step
          </button>
        </div>
      </div>
    </fieldset>
  );
}
