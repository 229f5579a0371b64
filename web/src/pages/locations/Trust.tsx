import { Modal, NativeSelect, Textarea } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Refusal } from "../../components/Status";
import { showRefusal } from "../../lib/formErrors";
import { tell } from "../../lib/tell";
import { useNow } from "../../lib/ticker";
import { dayMinute, zoneLabel } from "../../lib/time";

type Location = Schemas["Location"];
type Kind = Schemas["Trust"];

export interface Asked {
  location: Location;
  kind: Kind;
}

const spans = [
  { value: "1", label: "1 hour" },
  { value: "4", label: "4 hours" },
  { value: "12", label: "12 hours" },
  { value: "24", label: "a day, the longest" },
];

/** Somebody's word about a location over what is found, with a reason and an end. */
export function TrustDialog(props: { asked: Asked | null; close: () => void; done: () => void }) {
  const { asked } = props;
  return (
    <Modal
      opened={asked !== null}
      onClose={props.close}
      title={
        asked &&
        (asked.kind === "believe"
          ? `Believe ${asked.location.name} whatever is found`
          : `Do not believe ${asked.location.name}`)
      }
      size={520}
    >
      {asked && <Form key={asked.location.id} asked={asked} close={props.close} done={props.done} />}
    </Modal>
  );
}

function Form({ asked, close, done }: { asked: Asked; close: () => void; done: () => void }) {
  const { location, kind } = asked;
  const now = useNow();
  const post = api.useMutation("post", "/api/v1/locations/{id}/trust");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({
    initialValues: { reason: "", hours: "4" },
    validate: { reason: (text) => (text.trim() === "" ? "Say why: others will read it at night." : null) },
  });
  // A second less than the longest, because it is sent a moment later.
  const until = now + Number(form.values.hours) * 3600 - 1;
  const submit = form.onSubmit(({ reason }) => {
    setRefused(null);
    post.mutate(
      {
        params: { path: { id: location.id } },
        body: { kind, reason, until: new Date(until * 1000).toISOString() },
      },
      {
        onSuccess: () => {
          tell(
            `${location.name} is ${kind === "believe" ? "believed" : "not believed"} until ${dayMinute(until, now)}.`,
          );
          done();
          close();
        },
        onError: (error) =>
          setRefused(showRefusal(form, error, (f) => (f === "until" ? "hours" : f === "reason" ? "reason" : null))),
      },
    );
  });
  return (
    <form className="form" onSubmit={submit} noValidate>
      <p>
        {kind === "believe"
          ? "Its votes count even while its references fail or it disagrees with the others. If it is wrong, it can help to raise a false alert."
          : "Its votes do not count on any monitor. It goes on probing, and its results are kept."}{" "}
        At the end what is found decides again by itself.
      </p>
      <Textarea
        label="Reason"
        description="Stands beside the location, and in the audit log."
        placeholder={kind === "believe" ? "the references are down, not its line" : "its provider is being moved"}
        maxLength={500}
        autosize
        minRows={2}
        required
        data-autofocus
        {...form.getInputProps("reason")}
      />
      <NativeSelect
        label="For"
        description={`Until ${dayMinute(until, now)}, ${zoneLabel(until)}.`}
        data={spans}
        {...form.getInputProps("hours")}
      />
      {refused && <Refusal>{refused}</Refusal>}
      <div className="actions">
        <Button primary type="submit" busy={post.isPending}>
          {kind === "believe" ? `Believe ${location.name}` : `Do not believe ${location.name}`}
        </Button>
        <Button onClick={close}>Cancel</Button>
      </div>
    </form>
  );
}
