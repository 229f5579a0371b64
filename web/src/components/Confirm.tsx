import { Modal, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { problemOf } from "../api/problem";
import { Button } from "./Button";
import { Refusal } from "./Status";

/** Deleting asks to type the name; what is lost is said before. */
export function ConfirmDelete(props: {
  opened: boolean;
  close: () => void;
  title: string;
  name: string;
  children: ReactNode;
  act: () => Promise<unknown>;
  verb?: string;
}) {
  const [typed, setTyped] = useState("");
  const [refused, setRefused] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const verb = props.verb ?? "Delete";
  const close = () => {
    setTyped("");
    setRefused(null);
    props.close();
  };
  const act = async () => {
    setBusy(true);
    setRefused(null);
    try {
      await props.act();
      close();
    } catch (error) {
      setRefused(problemOf(error).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal opened={props.opened} onClose={close} title={props.title}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed === props.name) void act();
        }}
      >
        <div>{props.children}</div>
        <TextInput
          label={`Type ${props.name} to confirm`}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          data-autofocus
        />
        {refused && <Refusal>{refused}</Refusal>}
        <div className="actions">
          <Button danger type="submit" busy={busy} disabled={typed !== props.name}>
            {verb} {props.name}
          </Button>
          <Button onClick={close}>Keep it</Button>
        </div>
      </form>
    </Modal>
  );
}
