import { NumberInput, PasswordInput, Select, Switch, Textarea, TextInput } from "@mantine/core";
import type { EditorForm } from "./form";
import { HeaderLines } from "./HeaderLines";

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** How the request is made: method, headers, body, sign-in. */
export function RequestFields({ form }: { form: EditorForm }) {
  const v = form.values;
  return (
    <details open={v.method !== "GET" || v.headers.length > 0 || v.auth !== "none" || v.body !== "" || undefined}>
      <summary>Request</summary>
      <div className="form">
        <div className="fields">
          <Select label="Method" data={methods} {...form.getInputProps("method")} />
          <Select
            label="Signs in"
            data={[
              { value: "none", label: "not at all" },
              { value: "basic", label: "name and password" },
              { value: "bearer", label: "bearer token" },
            ]}
            {...form.getInputProps("auth")}
          />
        </div>
        {v.auth === "basic" && (
          <div className="fields">
            <TextInput label="Name" autoComplete="off" {...form.getInputProps("username")} />
            <PasswordInput label="Password" autoComplete="new-password" {...form.getInputProps("password")} />
          </div>
        )}
        {v.auth === "bearer" && (
          <PasswordInput label="Token" autoComplete="new-password" {...form.getInputProps("token")} />
        )}
        {v.auth !== "none" && (
          <p className="muted small">
            Stored encrypted, sent only to the agents that probe, never shown again. {"${secret:NAME}"} uses a stored
            secret.
          </p>
        )}
        <HeaderLines form={form} />
        {v.method !== "GET" && v.method !== "HEAD" && (
          <Textarea label="Body" autosize minRows={2} maxRows={12} {...form.getInputProps("body")} />
        )}
      </div>
    </details>
  );
}

/** Connection: redirects, versions, TLS, limits. */
export function ConnectionFields({ form }: { form: EditorForm }) {
  const v = form.values;
  return (
    <details>
      <summary>Connection</summary>
      <div className="form">
        <div className="fields">
          <Switch label="Follow redirects" {...form.getInputProps("follow", { type: "checkbox" })} />
          <Switch label="Verify the certificate" {...form.getInputProps("verify", { type: "checkbox" })} />
        </div>
        {!v.verify && (
          <p className="soft small">
            Without verifying, anybody between agent and server can answer. The certificate is still reported.
          </p>
        )}
        <div className="fields">
          {v.follow && (
            <NumberInput
              label="At most"
              suffix=" redirects"
              placeholder="5 redirects"
              min={0}
              {...form.getInputProps("max_redirects")}
            />
          )}
          <NumberInput
            label="Certificate days left, at least"
            suffix=" days"
            placeholder="not looked at"
            {...form.getInputProps("min_days_left")}
          />
          <TextInput label="Server name (SNI)" placeholder="as in the address" {...form.getInputProps("server_name")} />
          <Select
            label="HTTP version"
            data={[
              { value: "auto", label: "what the server offers" },
              { value: "1.1", label: "HTTP/1.1" },
              { value: "2", label: "HTTP/2" },
            ]}
            {...form.getInputProps("http_version")}
          />
          <Select
            label="Addresses"
            data={[
              { value: "any", label: "IPv6 and IPv4, raced" },
              { value: "4", label: "IPv4 only" },
              { value: "6", label: "IPv6 only" },
            ]}
            {...form.getInputProps("ip_family")}
          />
          <NumberInput
            label="Body read, at most"
            suffix=" KiB"
            placeholder="1024 KiB"
            min={1}
            {...form.getInputProps("max_body_kib")}
          />
        </div>
        <TextInput label="Proxy" placeholder="http://proxy.example:3128" {...form.getInputProps("proxy")} />
      </div>
    </details>
  );
}
