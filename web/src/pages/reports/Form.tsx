import { Fieldset, NativeSelect, Select, Switch, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate } from "react-router";
import { api, http, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Button, ButtonLink } from "../../components/Button";
import { Conflict } from "../../components/Conflict";
import { PickSlos } from "../../components/Pick";
import { Refusal } from "../../components/Status";
import { differences, text } from "../../lib/differences";
import { showRefusal } from "../../lib/formErrors";
import { tell } from "../../lib/tell";
import { readTheirs, type Theirs } from "../../lib/theirs";
import { zones } from "../../lib/zones";
import { bodyOf, type Draft, draftOf, fieldOf, labels, OWN, presetOf, presets } from "./draft";
import { TimesCard } from "./TimesCard";
import { useTimes } from "./useTimes";
import { recipients } from "./words";

type Schedule = Schemas["ReportSchedule"];

/** Adds a schedule, or changes one, with what its times come to beside it. */
export function Form(props: {
  initial: Draft;
  /** The SLOs of the draft, by name. */
  chosen: readonly Schemas["ReportedSlo"][];
  schedule?: Schedule;
}) {
  const { initial, schedule } = props;
  const navigate = useNavigate();
  const client = useQueryClient();
  const create = api.useMutation("post", "/api/v1/reports/schedules");
  const change = api.useMutation("patch", "/api/v1/reports/schedules/{id}");
  const channels = api.useQuery("get", "/api/v1/channels");
  const [refused, setRefused] = useState<string | null>(null);
  // What is saved over; theirs, once that was taken.
  const [revision, setRevision] = useState(schedule?.revision ?? null);
  const [theirs, setTheirs] = useState<Theirs<Schedule>>(null);
  const form = useForm<Draft>({
    initialValues: initial,
    validate: {
      name: (name) => (name.trim() === "" ? "It needs a name, which stands in this list." : null),
      slos: (slos) => (slos.length === 0 ? "Choose at least one SLO; each is a report of its own." : null),
      channel: (channel) => (channel === "" ? "Choose where the reports go." : null),
      cron: (cron) => (cron.trim() === "" ? "Choose a time above, or write an expression." : null),
    },
  });
  const times = useTimes(form.values.cron, form.values.timezone);
  const save = (values: Draft, over: number | null) => {
    setRefused(null);
    const onError = (error: unknown) => {
      if (schedule && problemOf(error).code === "revision") {
        const read = async () =>
          (await http.GET("/api/v1/reports/schedules")).data?.items.find((one) => one.id === schedule.id);
        return void readTheirs(read, setTheirs, () => setRefused(problemOf(error).message));
      }
      setRefused(showRefusal(form, error, fieldOf));
    };
    const onSuccess = (saved: Schedule) => {
      tell(schedule ? `${saved.name} is saved.` : `${saved.name} is added. “Send now” tries it.`);
      void client.invalidateQueries({ predicate: (q) => String(q.queryKey[1]).startsWith("/api/v1/reports") });
      navigate("/reports");
    };
    const body = bodyOf(values);
    if (schedule && over !== null)
      change.mutate(
        { params: { path: { id: schedule.id }, header: { "if-match": `"${over}"` } }, body },
        { onSuccess, onError },
      );
    else create.mutate({ body }, { onSuccess, onError });
  };
  const kinds = channels.data?.items ?? [];
  return (
    <div className="two lean-left editor">
      <form className="card body form" onSubmit={form.onSubmit((values) => save(values, revision))} noValidate>
        <div className="fields">
          <TextInput
            label="Name"
            description="As this list and the mails call it."
            placeholder="monthly for Shop"
            required
            {...form.getInputProps("name")}
          />
          <TextInput
            label="For whom"
            description="Stands at the top of each report."
            placeholder="Shop Example GmbH"
            {...form.getInputProps("customer")}
          />
        </div>
        <PickSlos
          label="SLOs"
          description="Each is a report of its own. Of a calendar's window the last one that is over, of any other the present one."
          chosen={props.chosen}
          {...form.getInputProps("slos")}
          value={form.values.slos}
        />
        <Fieldset legend="When">
          <div className="fields">
            <NativeSelect
              label="Time"
              description="Or write your own beside."
              data={[...presets, { value: OWN, label: "By a cron expression" }]}
              value={presetOf(form.values.cron)}
              onChange={(event) => {
                const { value } = event.currentTarget;
                form.setFieldValue("cron", value === OWN ? "" : value);
                if (value === OWN) document.getElementById("cron")?.focus();
              }}
            />
            <TextInput
              id="cron"
              label="Cron"
              description="Minute, hour, day, month, weekday."
              placeholder="0 8 4 * *"
              classNames={{ input: "mono-input" }}
              spellCheck={false}
              {...form.getInputProps("cron")}
              error={form.errors.cron ?? times.cronRefused}
            />
            <Select
              label="Time zone"
              description="In which the time is read."
              searchable
              allowDeselect={false}
              data={zones(form.values.timezone)}
              {...form.getInputProps("timezone")}
              error={form.errors.timezone ?? times.zoneRefused}
            />
          </div>
        </Fieldset>
        <NativeSelect
          label="Through"
          description="Mail gets the page and the tables attached, a webhook the report as JSON."
          data={[
            { value: "", label: "Choose a channel" },
            ...kinds.map((one) => ({ value: one.id, label: `${one.name} (${recipients(one)})` })),
          ]}
          {...form.getInputProps("channel")}
        />
        {channels.data && kinds.length === 0 && (
          <p className="small soft">
            There is no channel yet. <Link to="/alerting?add=email">Add one</Link>; who gets the reports is written
            there.
          </p>
        )}
        <Switch
          label="Switched on; otherwise it sends only when asked to"
          {...form.getInputProps("enabled", { type: "checkbox" })}
        />
        {refused && <Refusal>{refused}</Refusal>}
        {theirs !== null && (
          <Conflict
            differences={theirs === "reading" ? null : differing(theirs, form.values, schedule, kinds)}
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
            {schedule ? "Save" : "Add the schedule"}
          </Button>
          <ButtonLink to="/reports">Cancel</ButtonLink>
        </div>
      </form>
      <TimesCard draft={form.values} times={times} />
    </div>
  );
}

function differing(theirs: Schedule, mine: Draft, before: Schedule | undefined, channels: Schemas["Channel"][]) {
  const names = new Map(
    [...theirs.slos, ...(before?.slos ?? []), ...channels].map((one) => [one.id, one.name] as const),
  );
  const named = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(named) : (names.get(String(value)) ?? value);
  return differences(draftOf(theirs), mine, labels, (value) => text(named(value)));
}
