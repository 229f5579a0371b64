import { NumberInput, PasswordInput, Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { useMe } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { Failed, Loading, Refusal } from "../../components/Status";
import { StateWord } from "../../components/StateMark";
import { millis } from "../../lib/format";
import { showRefusal } from "../../lib/formErrors";
import { tell } from "../../lib/tell";

type Mail = Schemas["MailServer"];

/** Settings → Mail server. */
export function MailCard() {
  const mail = api.useQuery("get", "/api/v1/settings/mail", undefined, { refetchInterval: false });
  return (
    <Card
      title="Mail server"
      beside={
        mail.data &&
        (mail.data.fixed
          ? "given when Quorate is started"
          : mail.data.configured
            ? "set"
            : "not set: mail channels cannot send")
      }
    >
      {mail.isPending && <Loading rows={3} />}
      {mail.isError && <Failed error={mail.error} retry={() => void mail.refetch()} />}
      {mail.data && (
        <div className="body stack">
          <MailForm key={`${mail.data.configured}${mail.data.host}`} mail={mail.data} />
          {mail.data.configured && <MailTest />}
        </div>
      )}
    </Card>
  );
}

const ports = { starttls: 587, tls: 465, none: 25 } as const;

function MailForm({ mail }: { mail: Mail }) {
  const client = useQueryClient();
  const put = api.useMutation("put", "/api/v1/settings/mail");
  const remove = api.useMutation("delete", "/api/v1/settings/mail");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({
    initialValues: {
      host: mail.host,
      port: (mail.configured ? mail.port : "") as number | "",
      security: mail.configured ? mail.security : "starttls",
      username: mail.username ?? "",
      password: "",
      from: mail.from,
    },
  });
  const v = form.values;
  const refresh = () => void client.invalidateQueries();
  const submit = form.onSubmit((values) => {
    setRefused(null);
    put.mutate(
      {
        body: {
          host: values.host.trim(),
          security: values.security as Mail["security"],
          from: values.from.trim(),
          ...(values.port === "" ? {} : { port: values.port }),
          ...(values.username.trim() === "" ? {} : { username: values.username.trim() }),
          ...(values.password === "" ? {} : { password: values.password }),
        },
      },
      {
        onSuccess: () => {
          tell("Mail server saved.");
          form.setFieldValue("password", "");
          refresh();
        },
        onError: (error) => setRefused(showRefusal(form, error, (f) => (f in values ? f : null))),
      },
    );
  });
  return (
    <form className="form" onSubmit={submit}>
      <div className="fields">
        <TextInput
          label="Host"
          placeholder="smtp.shop.example"
          required
          readOnly={mail.fixed}
          {...form.getInputProps("host")}
        />
        <Select
          label="Security"
          readOnly={mail.fixed}
          data={[
            { value: "starttls", label: "STARTTLS, required" },
            { value: "tls", label: "TLS from the start" },
            { value: "none", label: "none: in clear text" },
          ]}
          {...form.getInputProps("security")}
        />
        <NumberInput
          label="Port"
          placeholder={String(ports[v.security as keyof typeof ports])}
          min={1}
          max={65_535}
          thousandSeparator=""
          readOnly={mail.fixed}
          {...form.getInputProps("port")}
        />
      </div>
      <div className="fields">
        <TextInput
          label="Name"
          description="Empty: no sign-in."
          autoComplete="off"
          readOnly={mail.fixed}
          {...form.getInputProps("username")}
        />
        <PasswordInput
          label="Password"
          description={mail.has_password ? "Stored; left empty it stays." : "Stored encrypted."}
          autoComplete="new-password"
          readOnly={mail.fixed}
          {...form.getInputProps("password")}
        />
        <TextInput
          label="From"
          description="The sender's address."
          placeholder="quorate@shop.example"
          required
          readOnly={mail.fixed}
          {...form.getInputProps("from")}
        />
      </div>
      {v.security === "none" && v.username !== "" && (
        <p className="soft small">Name and password would cross the network in clear text.</p>
      )}
      {refused && <Refusal>{refused}</Refusal>}
      {!mail.fixed && (
        <div className="actions">
          <Button primary type="submit" busy={put.isPending}>
            Save
          </Button>
          {mail.configured && (
            <Button
              busy={remove.isPending}
              onClick={() =>
                remove.mutate({}, { onSettled: refresh, onError: (error) => setRefused(problemOf(error).message) })
              }
            >
              Forget it
            </Button>
          )}
        </div>
      )}
    </form>
  );
}

function MailTest() {
  const me = useMe();
  const test = api.useMutation("post", "/api/v1/settings/mail/test");
  const form = useForm({ initialValues: { to: me?.user?.email ?? "" } });
  const [refused, setRefused] = useState<string | null>(null);
  return (
    <form
      className="form"
      onSubmit={form.onSubmit((body) => {
        setRefused(null);
        test.mutate(
          { body },
          { onError: (error) => setRefused(showRefusal(form, error, (f) => (f === "to" ? f : null))) },
        );
      })}
    >
      <div className="row">
        <TextInput aria-label="Send a test to" type="email" {...form.getInputProps("to")} />
        <Button type="submit" busy={test.isPending}>
          Send test
        </Button>
      </div>
      <div aria-live="polite">
        {test.data && (
          <p className="row">
            <StateWord
              state={test.data.delivered ? "up" : "down"}
              word={test.data.delivered ? "Accepted" : "Refused"}
            />
            <span className="break">
              {test.data.answer} in {millis(test.data.took_ms)}
            </span>
          </p>
        )}
        {refused && <Refusal>{refused}</Refusal>}
      </div>
    </form>
  );
}
