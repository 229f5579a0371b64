import { NativeSelect, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Refusal } from "../../components/Status";
import { showRefusal } from "../../lib/formErrors";
import { zoneLabel } from "../../lib/time";
import { instantOf, localInput, progress } from "./words";

/** What the public reads next to a post's title: adds a word, resolves, or changes what was said. */
export function UpdateForm(props: {
  page: Schemas["StatusPage"];
  post: Schemas["StatusPost"];
  update?: Schemas["StatusUpdate"];
  resolve?: boolean;
  done: () => void;
}) {
  const { page, post, update, resolve, done } = props;
  const add = api.useMutation("post", "/api/v1/status-pages/{id}/posts/{post}/updates");
  const change = api.useMutation("patch", "/api/v1/status-pages/{id}/posts/{post}/updates/{update}");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({
    initialValues: {
      status: update?.status ?? (resolve ? "resolved" : post.status),
      text: update?.text ?? "",
      at: update ? localInput(update.at) : "",
    },
    validate: { text: (text) => (text.trim() === "" ? "Say what people should know." : null) },
  });
  const submit = form.onSubmit((values) => {
    setRefused(null);
    const at = instantOf(values.at);
    // Minutes are written; one that was not touched keeps its seconds.
    const told = at !== null && (!update || localInput(update.at) !== values.at) ? { at } : {};
    const body = {
      status: values.status as Schemas["StatusProgress"],
      text: values.text.trim(),
      ...told,
    };
    const onError = (error: unknown) =>
      setRefused(showRefusal(form, error, (f) => (["status", "text", "at"].includes(f) ? f : null)));
    const path = { id: page.id, post: post.id };
    if (update) change.mutate({ params: { path: { ...path, update: update.id } }, body }, { onSuccess: done, onError });
    else add.mutate({ params: { path }, body }, { onSuccess: done, onError });
  });
  return (
    <form className="form" onSubmit={submit} noValidate>
      <NativeSelect
        label="How far it is"
        description="Public."
        data={[...progress]}
        {...form.getInputProps("status")}
      />
      <Textarea
        label="Text"
        description="Public, as plain text. Who wrote it is not."
        placeholder={
          resolve ? "Paying works again. We will say what it was." : "We see it and are looking for the cause."
        }
        maxLength={5000}
        autosize
        minRows={3}
        required
        data-autofocus
        {...form.getInputProps("text")}
      />
      <TextInput
        type="datetime-local"
        label="At"
        description={`Your time, ${zoneLabel()}; the page tells it in ${page.timezone}. Empty: now.`}
        {...form.getInputProps("at")}
      />
      {refused && <Refusal>{refused}</Refusal>}
      <div className="actions">
        <Button primary type="submit" busy={add.isPending || change.isPending}>
          {update ? "Save" : resolve ? "Resolve" : page.published ? "Tell the public" : "Add the update"}
        </Button>
      </div>
    </form>
  );
}
