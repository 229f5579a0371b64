import { Fieldset, MultiSelect, NativeSelect, NumberInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { api, http, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Button, ButtonLink } from "../../components/Button";
import { Conflict } from "../../components/Conflict";
import { Refusal } from "../../components/Status";
import { differences } from "../../lib/differences";
import { showRefusal } from "../../lib/formErrors";
import { readTheirs, type Theirs } from "../../lib/theirs";
import { bodyOf, type Draft, draftOf, fieldOf, labels } from "./draft";
import { KeyShown } from "./Group";
import { MemberFields } from "./MemberFields";

type Group = Schemas["FailoverGroup"];

const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const badName = (text: string) =>
  NAME.test(text.trim()) ? null : "It stands in an address: lower-case letters, digits and inner hyphens.";

/** Adds a failover group, or changes one. */
export function Form({ initial, group }: { initial: Draft; group?: Group }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const create = api.useMutation("post", "/api/v1/failover");
  const change = api.useMutation("patch", "/api/v1/failover/{id}");
  const channels = api.useQuery("get", "/api/v1/channels");
  const [refused, setRefused] = useState<string | null>(null);
  // What is saved over; theirs, once that was taken.
  const [revision, setRevision] = useState(group?.revision ?? null);
  const [theirs, setTheirs] = useState<Theirs<Group>>(null);
  const [made, setMade] = useState<Schemas["CreatedFailoverGroup"] | null>(null);
  const form = useForm<Draft>({
    initialValues: initial,
    validate: {
      name: badName,
      members: {
        name: badName,
        address: (text) => (text.trim() === "" ? "What is served: an address or a host name." : null),
        monitor: (id) => (id === "" ? "Choose the monitor that says how it is." : null),
      },
    },
  });
  const go = (saved: Group) => {
    for (const path of ["/api/v1/failover", "/api/v1/failover/{id}"])
      void client.invalidateQueries({ queryKey: ["get", path] });
    navigate(`/failover-groups/${saved.id}`);
  };
  const save = (values: Draft, over: number | null) => {
    setRefused(null);
    const onError = (error: unknown) => {
      if (group && problemOf(error).code === "revision") {
        const read = async () => (await http.GET("/api/v1/failover/{id}", { params: { path: { id: group.id } } })).data;
        return void readTheirs(read, setTheirs, () => setRefused(problemOf(error).message));
      }
      setRefused(showRefusal(form, error, fieldOf));
    };
    const body = bodyOf(values);
    if (group && over !== null)
      change.mutate(
        { params: { path: { id: group.id }, header: { "if-match": `"${over}"` } }, body },
        { onSuccess: go, onError },
      );
    else create.mutate({ body }, { onSuccess: setMade, onError });
  };
  const weighted = form.values.mode === "weighted";
  return (
    <>
      <form
        className="card body form roomy-form"
        onSubmit={form.onSubmit((values) => save(values, revision))}
        noValidate
      >
        <div className="fields">
          <TextInput
            label="Name"
            description="Stands in the feed's address."
            placeholder="shop"
            spellCheck={false}
            required
            {...form.getInputProps("name")}
          />
          <NativeSelect
            label="Served"
            description="What the order of the members means."
            data={[
              { value: "ordered", label: "The first that is in; the others stand by" },
              { value: "weighted", label: "All that are in, by weight" },
            ]}
            {...form.getInputProps("mode")}
          />
        </div>
        <Fieldset legend={weighted ? "Members" : "Members, the preferred one first"}>
          <MemberFields form={form} weighted={weighted} />
        </Fieldset>
        <div className="fields">
          <NumberInput
            label="Fewest left"
            description="If fewer would be left, all are served. Empty: half of them. 0: never."
            min={0}
            max={form.values.members.length}
            allowDecimal={false}
            {...form.getInputProps("min_members")}
          />
          <NumberInput
            label="Back after"
            description="How long a member must be well before it returns. Empty: at once."
            suffix={" s"}
            min={0}
            max={86_400}
            allowDecimal={false}
            {...form.getInputProps("return_after_s")}
          />
          <MultiSelect
            label="Told of changes"
            description="Channels that hear when a member goes or returns. Empty: none."
            data={(channels.data?.items ?? []).map((c) => ({ value: c.id, label: c.name }))}
            {...form.getInputProps("channels")}
          />
        </div>
        {refused && <Refusal>{refused}</Refusal>}
        {theirs !== null && (
          <Conflict
            differences={theirs === "reading" ? null : differing(theirs, form.values)}
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
            {group ? "Save" : "Add the group"}
          </Button>
          <ButtonLink to={group ? `/failover/${group.id}` : "/failover-groups"}>Cancel</ButtonLink>
        </div>
      </form>
      <KeyShown
        name={made?.group.name ?? ""}
        secret={made?.secret ?? null}
        close={() => {
          if (made) go(made.group);
          setMade(null);
        }}
      />
    </>
  );
}

/** Members are compared as lines: the ids of monitors and the keys of rows say nothing to people. */
function differing(theirs: Group, mine: Draft) {
  const lines = (draft: Draft) => ({
    ...draft,
    members: draft.members.map((m) =>
      [m.name, m.address, m.weight === 1 ? "" : `weight ${m.weight}`].filter(Boolean).join(" "),
    ),
  });
  return differences<object>(lines(draftOf(theirs)), lines(mine), labels as Record<never, string>);
}
