import { PasswordInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Failed, Loading, Refusal } from "../../components/Status";
import { showRefusal } from "../../lib/formErrors";
import { when } from "../../lib/time";
import { Frame } from "./Frame";

const titles: Record<Schemas["LinkPurpose"], string> = {
  first_admin: "Create the first administrator",
  invite: "Accept the invitation",
  recovery: "Choose a new password",
};

/** What a one-time link opens: the first administrator, an invitation, or a new password. */
export function SetupPage() {
  const token = useParams().token ?? "";
  const link = api.useQuery(
    "get",
    "/api/v1/setup/{token}",
    { params: { path: { token } } },
    { retry: false, staleTime: Number.POSITIVE_INFINITY },
  );
  if (link.isPending)
    return (
      <Frame title="One moment">
        <Loading rows={3} />
      </Frame>
    );
  if (link.isError)
    return (
      <Frame title="This link does not work">
        <Failed error={link.error} />
        <p>
          It can be used once and ends after a while. <code>quorate admin link</code> on the machine that runs Quorate
          prints a new one; or <Link to="/sign-in">sign in</Link>.
        </p>
      </Frame>
    );
  return <Form token={token} link={link.data} />;
}

function Form({ token, link }: { token: string; link: Schemas["SetupLink"] }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const use = api.useMutation("post", "/api/v1/setup/{token}");
  const [refused, setRefused] = useState<string | null>(null);
  const asksEmail = link.purpose === "first_admin" && !link.email;
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { email: link.email ?? "", name: "", password: "" },
    validate: { password: (v) => (v.length < 10 ? "Use at least 10 characters; a sentence is fine." : null) },
  });
  const submit = form.onSubmit(({ email, name, password }) => {
    setRefused(null);
    const body = {
      password,
      ...(asksEmail ? { email } : {}),
      ...(link.purpose !== "recovery" && name.trim() !== "" ? { name } : {}),
    };
    use.mutate(
      { params: { path: { token } }, body },
      {
        onSuccess: (me) => {
          client.clear();
          client.setQueryData(api.queryOptions("get", "/api/v1/session").queryKey, me);
          navigate("/", { replace: true });
        },
        onError: (error) =>
          setRefused(showRefusal(form, error, (f) => (["email", "name", "password"].includes(f) ? f : null))),
      },
    );
  });
  return (
    <Frame title={titles[link.purpose]}>
      <form className="form" onSubmit={submit} noValidate>
        {asksEmail ? (
          <TextInput
            label="E-mail"
            type="email"
            autoComplete="username"
            required
            key={form.key("email")}
            {...form.getInputProps("email")}
          />
        ) : (
          <p className="soft">
            For <b>{link.email}</b>, as {link.role}.
            <input type="hidden" name="username" autoComplete="username" value={link.email ?? ""} readOnly />
          </p>
        )}
        {link.purpose !== "recovery" && (
          <TextInput
            label="Name"
            description="As others see it beside what you do."
            autoComplete="name"
            key={form.key("name")}
            {...form.getInputProps("name")}
          />
        )}
        <PasswordInput
          label="Password"
          description="At least 10 characters."
          autoComplete="new-password"
          required
          key={form.key("password")}
          {...form.getInputProps("password")}
        />
        {refused && <Refusal>{refused}</Refusal>}
        <Button primary type="submit" busy={use.isPending}>
          {link.purpose === "recovery" ? "Save and sign in" : "Create and sign in"}
        </Button>
        <p className="muted small">This link ends {when(link.expires_at)}.</p>
      </form>
    </Frame>
  );
}
