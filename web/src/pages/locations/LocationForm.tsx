import { Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Refusal } from "../../components/Status";
import { showRefusal } from "../../lib/formErrors";
import { parseLabels, writeLabels } from "../../lib/labels";

type Location = Schemas["Location"];

/** Adds a location, or changes one. */
export function LocationForm({
  location,
  brief,
  done,
}: {
  location?: Location;
  brief?: boolean;
  done: (saved: Location) => void;
}) {
  const create = api.useMutation("post", "/api/v1/locations");
  const change = api.useMutation("patch", "/api/v1/locations/{id}");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({
    initialValues: {
      name: location?.name ?? "",
      region: location?.region ?? "",
      domain: location?.domain ?? "",
      labels: writeLabels(location?.labels ?? {}),
    },
    validate: { labels: (text) => (parseLabels(text) === null ? "Write each as name=value, one a line." : null) },
  });
  const submit = form.onSubmit((values) => {
    setRefused(null);
    const labels = parseLabels(values.labels) ?? {};
    const onError = (error: unknown) =>
      setRefused(
        showRefusal(form, error, (f) =>
          ["name", "region", "domain"].includes(f) ? f : f.startsWith("labels") ? "labels" : null,
        ),
      );
    const optional = (text: string) => (text.trim() === "" ? undefined : text.trim());
    const body = { name: values.name, region: optional(values.region), domain: optional(values.domain), labels };
    if (location) change.mutate({ params: { path: { id: location.id } }, body }, { onSuccess: done, onError });
    else create.mutate({ body: { ...body, enabled: true } }, { onSuccess: done, onError });
  });
  return (
    <form className="form" onSubmit={submit}>
      <div className="fields">
        <TextInput
          label="Name"
          description="Short: it stands in every table and alert."
          placeholder="fra"
          required
          data-autofocus
          {...form.getInputProps("name")}
        />
        <TextInput
          label="Region"
          description="Continent or user group."
          placeholder="Europe"
          {...form.getInputProps("region")}
        />
        <TextInput
          label="Network"
          description="What fails together: provider and network."
          placeholder="Northnet AS64496"
          {...form.getInputProps("domain")}
        />
      </div>
      {!brief && (
        <Textarea
          label="Labels"
          description="name=value, one a line; monitors can choose locations by them."
          autosize
          minRows={1}
          {...form.getInputProps("labels")}
        />
      )}
      {refused && <Refusal>{refused}</Refusal>}
      <div className="actions">
        <Button primary type="submit" busy={create.isPending || change.isPending}>
          {location ? "Save" : "Add and enrol an agent"}
        </Button>
      </div>
    </form>
  );
}
