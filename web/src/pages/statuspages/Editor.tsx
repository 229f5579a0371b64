import { Fieldset, NumberInput, Select, Switch, TextInput } from "@mantine/core";
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
import { tell } from "../../lib/tell";
import { readTheirs, type Theirs } from "../../lib/theirs";
import { zones } from "../../lib/zones";
import { bodyOf, type Draft, draftOf, fieldOf, labels, lines, slugOf } from "./draft";
import { GroupFields } from "./GroupFields";
import { LinkFields } from "./LinkFields";
import { PublicCard } from "./PublicCard";

type StatusPage = Schemas["StatusPage"];

const SLUG = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** The form of a status page, with what the public would read beside it. */
export function Editor({ initial, page }: { initial: Draft; page?: StatusPage }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const create = api.useMutation("post", "/api/v1/status-pages");
  const change = api.useMutation("patch", "/api/v1/status-pages/{id}");
  const [refused, setRefused] = useState<string | null>(null);
  // What is saved over; theirs, once that was taken.
  const [revision, setRevision] = useState(page?.revision ?? null);
  const [theirs, setTheirs] = useState<Theirs<StatusPage>>(null);
  const [ownSlug, setOwnSlug] = useState(page !== undefined);
  const form = useForm<Draft>({
    initialValues: initial,
    validate: {
      name: (name) => (name.trim() === "" ? "It needs a name, which heads the page." : null),
      slug: (slug) =>
        SLUG.test(slug.trim()) ? null : "It stands in an address: lower-case letters, digits and inner hyphens.",
      groups: {
        parts: {
          name: (name) => (name.trim() === "" ? "It needs a public name; the monitor's own is never shown." : null),
          target: (id) => (id === "" ? "Choose what is measured behind it." : null),
        },
      },
      links: {
        text: (words) => (words.trim() === "" ? "What the link says." : null),
        url: (url) => (/^(https?:\/\/|mailto:)./.test(url.trim()) ? null : "https://…, http://… or mailto:…"),
      },
    },
  });
  const save = (values: Draft, over: number | null) => {
    setRefused(null);
    const onError = (error: unknown) => {
      if (page && problemOf(error).code === "revision") {
        const read = async () =>
          (await http.GET("/api/v1/status-pages/{id}", { params: { path: { id: page.id } } })).data;
        return void readTheirs(read, setTheirs, () => setRefused(problemOf(error).message));
      }
      setRefused(showRefusal(form, error, fieldOf));
    };
    const onSuccess = (saved: StatusPage) => {
      void client.invalidateQueries({ predicate: (q) => String(q.queryKey[1]).startsWith("/api/v1/status-pages") });
      tell(saved.published ? `${saved.name} is saved, and public at once.` : `${saved.name} is saved as a draft.`);
      navigate(`/status-pages/${saved.id}`);
    };
    const body = bodyOf(values);
    if (page && over !== null)
      change.mutate(
        { params: { path: { id: page.id }, header: { "if-match": `"${over}"` } }, body },
        { onSuccess, onError },
      );
    else create.mutate({ body }, { onSuccess, onError });
  };
  const name = form.getInputProps("name");
  const slug = form.getInputProps("slug");
  return (
    <div className="two lean-left editor">
      <form
        className="card body form roomy-form"
        onSubmit={form.onSubmit((values) => save(values, revision))}
        noValidate
      >
        <div className="fields">
          <TextInput
            label="Name"
            description="Public. Heads the page."
            placeholder="Shop Example"
            maxLength={200}
            required
            {...name}
            onChange={(event) => {
              name.onChange(event);
              if (!ownSlug) form.setFieldValue("slug", slugOf(event.currentTarget.value));
            }}
          />
          <TextInput
            label="Address"
            description={`Public: /status/${form.values.slug || "…"}`}
            placeholder="shop"
            spellCheck={false}
            required
            {...slug}
            onChange={(event) => {
              setOwnSlug(true);
              slug.onChange(event);
            }}
          />
        </div>
        <TextInput
          label="Line below the name"
          description="Public, as plain text. May be empty."
          placeholder="Is the shop working?"
          maxLength={300}
          {...form.getInputProps("headline")}
        />
        <Fieldset legend="Parts">
          <p className="small soft">
            A part shows how one monitor or one SLO does, under a public name. Nobody outside sees the monitor's own
            name, its address, its locations or why it fails.
          </p>
          <GroupFields form={form} />
        </Fieldset>
        <div className="fields">
          <Select
            label="Time zone"
            description="Public. Days and times are told in it."
            searchable
            allowDeselect={false}
            data={zones(form.values.timezone)}
            {...form.getInputProps("timezone")}
          />
          <NumberInput
            label="Days shown"
            description="Public. 7 to 90."
            min={7}
            max={90}
            allowDecimal={false}
            {...form.getInputProps("days")}
          />
          <TextInput
            label="Own domain"
            description="Its visitors get this page and nothing else of Quorate. Empty: none."
            placeholder="status.shop.example"
            spellCheck={false}
            {...form.getInputProps("domain")}
          />
        </div>
        {form.values.domain.trim() !== "" && (
          <p className="small soft">
            Point its DNS record at whatever serves Quorate, and let that hold a certificate for it.
          </p>
        )}
        <Fieldset legend="Links">
          <LinkFields form={form} />
        </Fieldset>
        <Switch
          label="Published: anybody who has the address sees the page at once"
          description="A draft answers the public as a page that is not there."
          {...form.getInputProps("published", { type: "checkbox" })}
        />
        {refused && <Refusal>{refused}</Refusal>}
        {theirs !== null && (
          <Conflict
            differences={
              theirs === "reading"
                ? null
                : differences<object>(lines(draftOf(theirs)), lines(form.values), labels as Record<never, string>)
            }
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
            {form.values.published ? (page?.published ? "Save" : "Save and publish") : "Save the draft"}
          </Button>
          <ButtonLink to={page ? `/status-pages/${page.id}` : "/status-pages"}>Cancel</ButtonLink>
        </div>
      </form>
      <PublicCard draft={form.values} />
    </div>
  );
}
