import { Modal, NativeSelect, Textarea } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Refusal } from "../../components/Status";
import { showRefusal } from "../../lib/formErrors";
import { tell } from "../../lib/tell";
import { useNow } from "../../lib/ticker";
import { dayMinute, zoneLabel } from "../../lib/time";

type Group = Schemas["FailoverGroup"];

const spans = [
  { value: "1", label: "1 hour" },
  { value: "4", label: "4 hours" },
  { value: "24", label: "a day" },
  { value: "168", label: "7 days" },
  { value: "719", label: "30 days, the longest" },
];

/** Puts what the API answered in place of what was read, and asks for the list and the changes again. */
export function useSetGroup() {
  const client = useQueryClient();
  return (group: Group) => {
    const key = api.queryOptions("get", "/api/v1/failover/{id}", { params: { path: { id: group.id } } }).queryKey;
    client.setQueryData(key, group);
    for (const path of ["/api/v1/failover", "/api/v1/failover/{id}/changes"])
      void client.invalidateQueries({ queryKey: ["get", path] });
  };
}

/** Somebody's word over what monitors say, with a reason and an end. */
export function OverrideDialog(props: {
  group: Group;
  asked: { member: string; serve: boolean } | null;
  close: () => void;
}) {
  const { asked } = props;
  return (
    <Modal
      opened={asked !== null}
      onClose={props.close}
      title={asked && (asked.serve ? `Serve ${asked.member} whatever its monitor says` : `Take ${asked.member} out`)}
      size={520}
    >
      {asked && <Form key={asked.member} group={props.group} asked={asked} close={props.close} />}
    </Modal>
  );
}

function Form(props: { group: Group; asked: { member: string; serve: boolean }; close: () => void }) {
  const { group, asked } = props;
  const now = useNow();
  const put = api.useMutation("put", "/api/v1/failover/{id}/members/{member}/override");
  const set = useSetGroup();
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({
    initialValues: { reason: "", hours: "4" },
    validate: { reason: (text) => (text.trim() === "" ? "Say why: others will read it at night." : null) },
  });
  const until = now + Number(form.values.hours) * 3600;
  const submit = form.onSubmit(({ reason }) => {
    setRefused(null);
    put.mutate(
      {
        params: { path: { id: group.id, member: asked.member } },
        body: { serve: asked.serve, reason, until: new Date(until * 1000).toISOString() },
      },
      {
        onSuccess: (saved) => {
          set(saved);
          tell(`${asked.member} is ${asked.serve ? "served" : "out"} until ${dayMinute(until, now)}.`);
          props.close();
        },
        onError: (error) =>
          setRefused(showRefusal(form, error, (f) => (f === "until" ? "hours" : f === "reason" ? "reason" : null))),
      },
    );
  });
  return (
    <form className="form" onSubmit={submit} noValidate>
      <p>
        {asked.serve
          ? "It is served even while it is down. Whoever asks the feed sees no difference to one that is well."
          : "Whoever asks the feed is told to leave it out, also when too few are left."}{" "}
        At its end the monitor decides again by itself.
      </p>
      <Textarea
        label="Reason"
        description="Stands beside the member, and in the audit log."
        placeholder={asked.serve ? "the check is broken, not the server" : "moving it to the new rack"}
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
      {refused && <Refusal>{refused.replace(/^serve: /, "")}</Refusal>}
      <div className="actions">
        <Button primary type="submit" busy={put.isPending}>
          {asked.serve ? `Serve ${asked.member}` : `Take ${asked.member} out`}
        </Button>
        <Button onClick={props.close}>Cancel</Button>
      </div>
    </form>
  );
}
