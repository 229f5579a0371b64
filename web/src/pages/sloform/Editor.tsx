import { MultiSelect, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { api, http, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Button, ButtonLink } from "../../components/Button";
import { Conflict } from "../../components/Conflict";
import { Refusal } from "../../components/Status";
import { differences, text } from "../../lib/differences";
import { showRefusal } from "../../lib/formErrors";
import { readTheirs, type Theirs } from "../../lib/theirs";
import { parseLabels } from "../../lib/labels";
import { ppbOf } from "../../lib/target";
import { bodyOf, type Draft, draftOf, fieldOf, isAskable, labels } from "./draft";
import { MeansCard } from "./MeansCard";
import { PolicyFields } from "./PolicyFields";
import { RuleFields } from "./RuleFields";
import { SubjectFields } from "./SubjectFields";
import { useCheck } from "./useCheck";
import { WindowFields } from "./WindowFields";

/** The form of an SLO, with what it would come to beside it. */
export function Editor({ initial, slo }: { initial: Draft; slo?: Schemas["Slo"] }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const create = api.useMutation("post", "/api/v1/slos");
  const change = api.useMutation("patch", "/api/v1/slos/{id}");
  const channels = api.useQuery("get", "/api/v1/channels");
  // What is saved over; theirs, once that was taken.
  const [revision, setRevision] = useState(slo?.revision ?? null);
  const [theirs, setTheirs] = useState<Theirs<Schemas["Slo"]>>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm<Draft>({
    initialValues: initial,
    validateInputOnChange: ["target", "labels"],
    validate: {
      name: (text) => (text.trim() === "" ? "It needs a name, which reports and alerts carry." : null),
      target: (text) =>
        ppbOf(text) === null ? "Write a percentage between 0 and 100, such as 99.9; at most seven decimals." : null,
      labels: (text) => (parseLabels(text) === null ? "Write name=value, one a line." : null),
    },
  });
  const { check, refused: loose } = useCheck(form);
  const save = (values: Draft, over: number | null) => {
    setRefused(null);
    const body = bodyOf(values);
    const onError = (error: unknown) => {
      if (slo && problemOf(error).code === "revision") {
        const read = async () => (await http.GET("/api/v1/slos/{id}", { params: { path: { id: slo.id } } })).data;
        return void readTheirs(read, setTheirs, () => setRefused(problemOf(error).message));
      }
      setRefused(showRefusal(form, error, (field) => fieldOf(field, values)));
    };
    const onSuccess = (saved: Schemas["Slo"]) => {
      for (const path of ["/api/v1/slos", "/api/v1/slos/{id}", "/api/v1/slos/{id}/report", "/api/v1/slos/{id}/history"])
        void client.invalidateQueries({ queryKey: ["get", path] });
      navigate(`/slos/${saved.id}`);
    };
    if (slo && over !== null)
      change.mutate(
        { params: { path: { id: slo.id }, header: { "if-match": `"${over}"` } }, body },
        { onSuccess, onError },
      );
    else create.mutate({ body }, { onSuccess, onError });
  };
  const submit = form.onSubmit((values) => save(values, revision));
  return (
    <div className="two lean-left editor">
      <form className="card body form" onSubmit={submit} noValidate>
        <div className="fields">
          <TextInput
            label="Name"
            description="As reports and alerts call it."
            placeholder="checkout-availability"
            required
            {...form.getInputProps("name")}
          />
          <TextInput
            label="Service"
            description="What customers know it as; groups SLOs."
            placeholder="checkout"
            {...form.getInputProps("service")}
          />
        </div>
        <SubjectFields form={form} slo={slo} />
        <WindowFields form={form} check={check} />
        <details>
          <summary>Unknown time, maintenance, coverage</summary>
          <PolicyFields form={form} />
        </details>
        <details open={initial.own_rules || undefined}>
          <summary>Burn alerts</summary>
          <div className="form">
            <RuleFields form={form} check={check} />
            <MultiSelect
              label="Channels"
              description="Empty: the default channels."
              data={(channels.data?.items ?? []).map((c) => ({ value: c.id, label: c.name }))}
              {...form.getInputProps("channels")}
            />
          </div>
        </details>
        <details>
          <summary>Owner, description, labels</summary>
          <div className="form">
            <TextInput label="Owner" description="Who answers for it." {...form.getInputProps("owner")} />
            <Textarea
              label="Description"
              description="Stands on its page."
              autosize
              minRows={2}
              {...form.getInputProps("description")}
            />
            <Textarea
              label="Labels"
              description="name=value, one a line."
              autosize
              minRows={1}
              {...form.getInputProps("labels")}
            />
          </div>
        </details>
        {refused && <Refusal>{refused}</Refusal>}
        {theirs !== null && (
          <Conflict
            differences={theirs === "reading" ? null : differing(theirs, form.values, slo)}
            busy={change.isPending}
            overwrite={() => theirs !== "reading" && save(form.values, theirs.revision)}
            take={() => {
              if (theirs !== "reading") {
                form.setValues(draftOf(theirs));
                setRevision(theirs.revision);
              }
              setTheirs(null);
            }}
          />
        )}
        <div className="actions">
          <Button primary type="submit" busy={create.isPending || change.isPending}>
            {slo ? "Save" : "Add the SLO"}
          </Button>
          <ButtonLink to={slo ? `/slos/${slo.id}` : "/slos"}>Cancel</ButtonLink>
        </div>
      </form>
      <MeansCard check={check} refused={loose} asked={isAskable(form.values)} />
    </div>
  );
}

/** What differs, with the names of what is known of either. */
function differing(theirs: Schemas["Slo"], mine: Draft, before: Schemas["Slo"] | undefined) {
  const known = [theirs, before].flatMap((slo) => [slo?.monitor, slo?.fleet, ...(slo?.members ?? [])]);
  const names = new Map(known.flatMap((one) => (one ? [[one.id, one.name] as const] : [])));
  const named = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(named) : (names.get(String(value)) ?? value);
  return differences(draftOf(theirs), mine, labels, (value) => text(named(value)));
}
