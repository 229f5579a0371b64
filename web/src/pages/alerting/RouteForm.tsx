import { MultiSelect, Select, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Refusal } from "../../components/Status";
import { showRefusal } from "../../lib/formErrors";
import { parseLabels, writeLabels } from "../../lib/labels";

/** Adds a route, or changes one. */
export function RouteForm({
  channels,
  escalations,
  route,
  done,
}: {
  channels: readonly Schemas["Channel"][];
  escalations: readonly Schemas["Escalation"][];
  route?: Schemas["AlertRoute"];
  done: () => void;
}) {
  const create = api.useMutation("post", "/api/v1/routes");
  const change = api.useMutation("patch", "/api/v1/routes/{id}");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({
    initialValues: {
      name: route?.name ?? "",
      labels: writeLabels(route?.labels ?? {}),
      escalation: route?.escalation ?? "",
      channels: route?.channels ?? [],
    },
  });
  const submit = form.onSubmit((v) => {
    setRefused(null);
    const labels = parseLabels(v.labels);
    if (labels === null) return form.setFieldError("labels", "Write each as name=value, one a line.");
    const body = {
      name: v.name.trim(),
      labels,
      escalation: v.escalation === "" ? null : v.escalation,
      channels: v.channels.length > 0 ? v.channels : null,
    };
    const onError = (error: unknown) =>
      setRefused(
        showRefusal(form, error, (field) => {
          const f = field.replace(/[[.].*$/, "");
          return f in v ? f : null;
        }),
      );
    if (route)
      change.mutate(
        { params: { path: { id: route.id }, header: { "if-match": `"${route.revision}"` } }, body },
        { onSuccess: done, onError },
      );
    else create.mutate({ body }, { onSuccess: done, onError });
  });
  return (
    <form className="form" onSubmit={submit} noValidate>
      <TextInput label="Name" placeholder="shop" required data-autofocus {...form.getInputProps("name")} />
      <Textarea
        label="Labels"
        description="name=value, one a line; all of them must be there. None: it fits everything."
        placeholder="team=shop"
        autosize
        minRows={2}
        {...form.getInputProps("labels")}
      />
      <Select
        label="Escalation"
        placeholder={escalations.length === 0 ? "none yet" : "none"}
        clearable
        data={escalations.map((one) => ({ value: one.id, label: one.name }))}
        value={form.values.escalation || null}
        error={form.errors.escalation}
        onChange={(id) => form.setFieldValue("escalation", id ?? "")}
      />
      <MultiSelect
        label="Channels"
        description="Told at once, beside the escalation."
        data={channels.map((one) => ({ value: one.id, label: one.name }))}
        comboboxProps={{ transitionProps: { duration: 0 } }}
        {...form.getInputProps("channels")}
      />
      {refused && <Refusal>{refused}</Refusal>}
      <div className="actions">
        <Button primary type="submit" busy={create.isPending || change.isPending}>
          {route ? "Save" : "Add"}
        </Button>
      </div>
    </form>
  );
}
