import { Modal, PasswordInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { api } from "../../api/client";
import { problemOf } from "../../api/problem";
import { setExpired, useExpired } from "../../api/queries";
import { useMe } from "../../api/session";
import { Button } from "../Button";
import { Refusal } from "../Status";

/** The sign-in has ended: renewed over the page, so that a half-filled form is not lost. */
export function Renew() {
  const expired = useExpired();
  const me = useMe();
  const navigate = useNavigate();
  const client = useQueryClient();
  const signIn = api.useMutation("post", "/api/v1/session");
  const [password, setPassword] = useState("");
  const email = me?.user?.email;
  const leave = () => {
    setExpired(false);
    client.clear();
    navigate("/sign-in");
  };
  return (
    <Modal opened={expired} onClose={leave} title="Your sign-in has ended">
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!email) return leave();
          signIn.mutate(
            { body: { email, password } },
            {
              onSuccess: () => {
                setPassword("");
                setExpired(false);
                void client.invalidateQueries();
              },
            },
          );
        }}
      >
        <p>What you were doing is still here.</p>
        {email && (
          <PasswordInput
            label={`Password of ${email}`}
            autoComplete="current-password"
            data-autofocus
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
        )}
        {signIn.isError && <Refusal>{problemOf(signIn.error).message}</Refusal>}
        <div className="actions">
          <Button primary type="submit" busy={signIn.isPending}>
            Go on
          </Button>
          <Button onClick={leave}>Sign in as somebody else</Button>
        </div>
      </form>
    </Modal>
  );
}
