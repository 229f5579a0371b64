import { MultiSelect, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api, http, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Button } from "../../components/Button";
import { Conflict } from "../../components/Conflict";
import { Refusal } from "../../components/Status";
import { differences, text } from "../../lib/differences";
import { showRefusal } from "../../lib/formErrors";
import { readTheirs, type Theirs } from "../../lib/theirs";
import { zoneLabel } from "../../lib/time";
import { impacts, instantOf, localInput, partsOf, progress } from "./words";

type StatusPage = Schemas["StatusPage"];
type StatusPost = Schemas["StatusPost"];

interface Draft {
  title: string;
  impact: string;
  parts: string[];
  incident: string;
  started_at: string;
  status: string;
  text: string;
}

const labels: { readonly [K in keyof Draft]?: string } = {
  title: "Title",
  impact: "Impact",
  parts: "Parts",
  incident: "Incident",
  started_at: "Began",
};

const draftOf = (post: StatusPost | undefined, incident = ""): Draft => ({
  title: post?.title ?? "",
  impact: post?.impact ?? "minor",
  parts: post?.parts ?? [],
  incident: post?.incident ?? incident,
  started_at: post ? localInput(post.started_at) : "",
  status: "investigating",
  text: "",
});

/** Writes a post with its first update, or changes a post's head; what is public is said at each field. */
export function PostForm(props: {
  page: StatusPage;
  post?: StatusPost;
  /** The incident that a new post is about, by its id. */
  incident?: string;
  done: () => void;
}) {
  const { page, done } = props;
  // The form works on what it was opened with: a change by others is refused when it is saved.
  const [post] = useState(props.post);
  const create = api.useMutation("post", "/api/v1/status-pages/{id}/posts");
  const change = api.useMutation("patch", "/api/v1/status-pages/{id}/posts/{post}");
  const [refused, setRefused] = useState<string | null>(null);
  const [theirs, setTheirs] = useState<Theirs<StatusPost>>(null);
  const form = useForm<Draft>({
    initialValues: draftOf(post, props.incident),
    validate: {
      title: (title) => (title.trim() === "" ? "Say in a few words what does not work." : null),
      text: (words) => (!post && words.trim() === "" ? "Say what people should know." : null),
    },
  });
  const save = (d: Draft, revision: number) => {
    setRefused(null);
    const started = instantOf(d.started_at);
    // Minutes are written; a beginning that was not touched keeps its seconds.
    const moved = started !== null && (!post || localInput(post.started_at) !== d.started_at);
    const head = {
      title: d.title.trim(),
      impact: d.impact as Schemas["StatusImpact"],
      parts: d.parts,
      incident: d.incident || null,
      ...(moved ? { started_at: started } : {}),
    };
    const onError = (error: unknown) => {
      if (post && problemOf(error).code === "revision") {
        const params = { path: { id: page.id, post: post.id } };
        const read = async () => (await http.GET("/api/v1/status-pages/{id}/posts/{post}", { params })).data;
        return void readTheirs(read, setTheirs, () => setRefused(problemOf(error).message));
      }
      setRefused(showRefusal(form, error, fieldOf));
    };
    if (post)
      change.mutate(
        { params: { path: { id: page.id, post: post.id }, header: { "if-match": `"${revision}"` } }, body: head },
        { onSuccess: done, onError },
      );
    else
      create.mutate(
        {
          params: { path: { id: page.id } },
          body: { ...head, update: { status: d.status as Schemas["StatusProgress"], text: d.text.trim() } },
        },
        { onSuccess: done, onError },
      );
  };
  const names = new Map(partsOf(page).map((part) => [part.id, part.name]));
  return (
    <form className="form" onSubmit={form.onSubmit((d) => save(d, post?.revision ?? 0))} noValidate>
      <TextInput
        label="Title"
        description="Public. What people notice, in their words."
        placeholder="Paying fails for most people"
        maxLength={200}
        required
        data-autofocus
        {...form.getInputProps("title")}
      />
      <div className="fields">
        <NativeSelect
          label="Impact"
          description="Public. It changes no part's state."
          data={impacts.map(({ value, label }) => ({ value, label }))}
          {...form.getInputProps("impact")}
        />
        <TextInput
          type="datetime-local"
          label="Began"
          description={`Public. Your time, ${zoneLabel()}. Empty: now.`}
          {...form.getInputProps("started_at")}
        />
      </div>
      <MultiSelect
        label="Parts"
        description="Public, by their public names."
        placeholder={form.values.parts.length === 0 ? "which parts it is about" : ""}
        searchable
        nothingFoundMessage="No part of that name"
        data={partsOf(page).map((part) => ({ value: part.id, label: part.name }))}
        {...form.getInputProps("parts")}
      />
      <PickIncident value={form.values.incident} {...form.getInputProps("incident")} />
      {!post && (
        <>
          <NativeSelect
            label="How far it is"
            description="Public."
            data={progress.filter((one) => one.value !== "resolved").map(({ value, label }) => ({ value, label }))}
            {...form.getInputProps("status")}
          />
          <Textarea
            label="First update"
            description="Public, as plain text. Who wrote it is not."
            placeholder="We see it and are looking for the cause."
            maxLength={5000}
            autosize
            minRows={3}
            required
            {...form.getInputProps("text")}
          />
        </>
      )}
      {refused && <Refusal>{refused}</Refusal>}
      {theirs !== null && (
        <Conflict
          differences={
            theirs === "reading"
              ? null
              : differences(draftOf(theirs), form.values, labels, (value) =>
                  text(Array.isArray(value) ? value.map((id) => names.get(id) ?? id) : value),
                )
          }
          busy={change.isPending}
          overwrite={() => theirs !== "reading" && save(form.values, theirs.revision)}
          take={done}
        />
      )}
      <div className="actions">
        <Button primary type="submit" busy={create.isPending || change.isPending}>
          {post ? "Save" : page.published ? "Tell the public" : "Add the post"}
        </Button>
        {!page.published && <span className="small muted">The page is a draft: nobody outside reads it yet.</span>}
      </div>
    </form>
  );
}

/** The form's field for the API's. */
function fieldOf(field: string): string | null {
  if (field.startsWith("parts")) return "parts";
  const plain = field.replace(/^update\./, "");
  return ["title", "impact", "incident", "started_at", "status", "text"].includes(plain) ? plain : null;
}

/** The incident that it is about, for those who are signed in. */
function PickIncident(props: { value: string; error?: React.ReactNode; onChange: (id: string) => void }) {
  const found = api.useQuery("get", "/api/v1/incidents", { params: { query: { state: "open", limit: 50 } } });
  const items = found.data?.items ?? [];
  const known = items.some((one) => one.id === props.value);
  return (
    <NativeSelect
      label="Incident"
      description="Never public: a link for those who are signed in."
      data={[
        { value: "", label: "None" },
        ...(props.value !== "" && !known ? [{ value: props.value, label: "The one that was chosen" }] : []),
        ...items.map((one) => ({ value: one.id, label: incidentWord(one) })),
      ]}
      value={props.value}
      error={props.error}
      onChange={(event) => props.onChange(event.currentTarget.value)}
    />
  );
}

function incidentWord(one: Schemas["IncidentRow"]): string {
  const about = one.monitor?.name ?? one.fleet?.name ?? "incident";
  return `${about}: ${one.sentence}`.slice(0, 120);
}
