import { MultiSelect, NumberInput, Switch, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Calls } from "../../components/Calls";
import { Refusal } from "../../components/Status";
import { callPlan } from "../../lib/calls";
import { showRefusal } from "../../lib/formErrors";
import { bodyOf, type EscalationValues, freshStep, valuesOf } from "./escalations";

type Channel = Schemas["Channel"];
type Escalation = Schemas["Escalation"];

/** Adds an escalation policy, or changes one. */
export function EscalationForm({
  channels,
  escalation,
  done,
}: {
  channels: readonly Channel[];
  escalation?: Escalation;
  done: () => void;
}) {
  const create = api.useMutation("post", "/api/v1/escalations");
  const change = api.useMutation("patch", "/api/v1/escalations/{id}");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm<EscalationValues>({ initialValues: valuesOf(escalation) });
  const v = form.values;
  const data = channels.map((c) => ({ value: c.id, label: c.name }));
  const submit = form.onSubmit((values) => {
    setRefused(null);
    const body = bodyOf(values);
    const onError = (error: unknown) =>
      setRefused(
        showRefusal(form, error, (field) => {
          const step = /^steps\[(\d+)\]\.(\w+)/.exec(field);
          if (step) return `steps.${step[1]}.${step[2] === "after_s" ? "minutes" : "channels"}`;
          const names: Record<string, string> = {
            name: "name",
            loops: "loops",
            ack_timeout_s: "ackMinutes",
            reminder_s: "reminderMinutes",
          };
          return names[field] ?? null;
        }),
      );
    if (escalation)
      change.mutate(
        {
          params: { path: { id: escalation.id }, header: { "if-match": `"${escalation.revision}"` } },
          body,
        },
        { onSuccess: done, onError },
      );
    else create.mutate({ body }, { onSuccess: done, onError });
  });
  return (
    <form className="form" onSubmit={submit} noValidate>
      <TextInput label="Name" placeholder="on call" required data-autofocus {...form.getInputProps("name")} />
      {v.steps.map((step, i) => (
        <fieldset key={step.key}>
          <legend>Step {i + 1}</legend>
          <div className="fields">
            <NumberInput
              label="After"
              description="minutes since it opened"
              min={0}
              max={1440}
              {...form.getInputProps(`steps.${i}.minutes`)}
            />
            <MultiSelect
              label="Tell"
              data={data}
              placeholder={step.channels.length === 0 ? "choose channels" : ""}
              comboboxProps={{ transitionProps: { duration: 0 } }}
              {...form.getInputProps(`steps.${i}.channels`)}
            />
          </div>
          {v.steps.length > 1 && (
            <Button compact aria-label={`Remove step ${i + 1}`} onClick={() => form.removeListItem("steps", i)}>
              Remove
            </Button>
          )}
        </fieldset>
      ))}
      {v.steps.length < 10 && (
        <div className="row">
          <Button onClick={() => form.insertListItem("steps", freshStep(v.steps))}>Add a step</Button>
        </div>
      )}
      <div className="fields">
        <NumberInput
          label="Rounds"
          description="a round begins an hour after the one before"
          min={1}
          max={10}
          {...form.getInputProps("loops")}
        />
        <NumberInput
          label="An acknowledgement ends after"
          description="minutes, if it is still open"
          min={5}
          max={10_080}
          {...form.getInputProps("ackMinutes")}
        />
      </div>
      <Switch
        label="Remind those who were told, while nobody is at it"
        {...form.getInputProps("reminds", { type: "checkbox" })}
      />
      {v.reminds && (
        <NumberInput
          label="Every"
          description="minutes; after the 24th reminder daily"
          min={5}
          max={1440}
          {...form.getInputProps("reminderMinutes")}
        />
      )}
      <Calls plan={callPlan(bodyOf(v), new Map(channels.map((c) => [c.id, c.name])))} />
      {escalation && (
        <p className="muted small">Incidents that are open go on by the copy that they took when they opened.</p>
      )}
      {refused && <Refusal>{refused}</Refusal>}
      <div className="actions">
        <Button primary type="submit" busy={create.isPending || change.isPending}>
          {escalation ? "Save" : "Add"}
        </Button>
      </div>
    </form>
  );
}
