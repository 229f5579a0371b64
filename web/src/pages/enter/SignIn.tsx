import { PasswordInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation, useNavigate } from "react-router";
import { api } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Button } from "../../components/Button";
import { Refusal } from "../../components/Status";
import { Frame } from "./Frame";

/** Sign-in; afterwards the page that was asked for. */
export function SignInPage() {
  const navigate = useNavigate();
  const client = useQueryClient();
  const from = (useLocation().state as { from?: string } | null)?.from ?? "/";
  const setup = api.useQuery("get", "/api/v1/setup");
  const signIn = api.useMutation("post", "/api/v1/session");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({ mode: "uncontrolled", initialValues: { email: "", password: "" } });
  const submit = form.onSubmit((body) => {
    setRefused(null);
    signIn.mutate(
      { body },
      {
        onSuccess: (me) => {
          client.clear();
          client.setQueryData(api.queryOptions("get", "/api/v1/session").queryKey, me);
          navigate(from, { replace: true });
        },
        onError: (error) => setRefused(problemOf(error).message),
      },
    );
  });
  if (setup.data?.needs_first_admin)
    return (
      <Frame title="Nobody has signed in here yet">
        <p>
          Open the one-time link that Quorate printed when it started; it creates the first administrator. It is lost?
          Run <code>quorate admin link</code> on the machine that runs Quorate.
        </p>
      </Frame>
    );
  return (
    <Frame title="Sign in">
      <form className="form" onSubmit={submit}>
        <TextInput
          label="E-mail"
          type="email"
          autoComplete="username"
          required
          key={form.key("email")}
          {...form.getInputProps("email")}
        />
        <PasswordInput
          label="Password"
          autoComplete="current-password"
          required
          key={form.key("password")}
          {...form.getInputProps("password")}
        />
        {refused && <Refusal>{refused}</Refusal>}
        <Button primary type="submit" busy={signIn.isPending}>
          Sign in
        </Button>
        <p className="muted small">
          Forgotten? An administrator can send you a new link from People and tokens, or run{" "}
          <code>quorate admin link EMAIL</code>.
        </p>
      </form>
    </Frame>
  );
}
