import { Textarea, TextInput } from "@mantine/core";
import { type UseFormReturnType, useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { api, http, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Button, ButtonLink } from "../../components/Button";
import { Conflict } from "../../components/Conflict";
import { Refusal } from "../../components/Status";
import { differences, text } from "../../lib/differences";
import { plural } from "../../lib/format";
import { showRefusal } from "../../lib/formErrors";
import { parseLabels } from "../../lib/labels";
import { bodyOf, type Draft, draftOf, fieldOf, words } from "./draft";
import { ScopeFields } from "./ScopeFields";
import { SwitchFields } from "./SwitchFields";
import { TimesCard } from "./TimesCard";
import { WhenFields } from "./WhenFields";

type Maintenance = Schemas["Maintenance"];
export type MaintenanceForm = UseFormReturnType<Draft>;

const needed = "Say whom it covers: monitors, groups, labels or fleets. Or choose everything.";

/** The form of maintenance, with the times that it would come beside it. */
export function Editor({ initial, maintenance }: { initial: Draft; maintenance?: Maintenance }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const create = api.useMutation("post", "/api/v1/maintenance");
  const change = api.useMutation("patch", "/api/v1/maintenance/{id}");
  const [theirs, setTheirs] = useState<Maintenance | "reading" | null>(null);
  const [revision, setRevision] = useState(maintenance?.revision ?? null);
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm<Draft>({
    initialValues: initial,
    validate: {
      name: (text) => (text.trim() === "" ? "It needs a name, which alerts and reports carry." : null),
      reason: (text, d) =>
        d.kind === "correction" && text.trim() === "" ? "A correction changes figures that were told: say why." : null,
      labels: (text) => (parseLabels(text) === null ? "Write name=value, one a line." : null),
      weekdays: (days, d) => (d.repeat === "weekly" && days.length === 0 ? "Choose at least one day." : null),
      day: (day, d) => (d.repeat === "monthly" && day === "" ? "Say which day of the month." : null),
      duration_min: (minutes, d) => (d.repeat !== "once" && minutes === "" ? "Say how long it lasts." : null),
      covers: (covers, d) => {
        const named = [d.monitors, d.groups, d.fleets].some((all) => all.length > 0) || d.labels.trim() !== "";
        return covers === "some" && !named ? needed : null;
      },
    },
  });
  const save = (values: Draft, seen: number | null) => {
    setRefused(null);
    const body = bodyOf(values);
    const onError = (error: unknown) => {
      if (maintenance && problemOf(error).code === "revision") return void readTheirs(maintenance.id, setTheirs);
      setRefused(showRefusal(form, error, (field) => fieldOf(field, values)));
    };
    const onSuccess = () => {
      void client.invalidateQueries({
        predicate: (query) => String(query.queryKey[1]).startsWith("/api/v1/maintenance"),
      });
      navigate("/maintenance");
    };
    if (maintenance && seen !== null)
      change.mutate(
        { params: { path: { id: maintenance.id }, header: { "if-match": `"${seen}"` } }, body },
        { onSuccess, onError },
      );
    else create.mutate({ body }, { onSuccess, onError });
  };
  const correction = initial.kind === "correction";
  return (
    <div className="two lean-left editor">
      <form className="card body form" onSubmit={form.onSubmit((values) => save(values, revision))} noValidate>
        <div className="fields">
          <TextInput
            label="Name"
            description="What is done, as alerts, reports and the public page call it."
            placeholder="database upgrade"
            required
            {...form.getInputProps("name")}
          />
        </div>
        <Textarea
          label="Reason"
          description={
            correction
              ? "Stands in every report that it changes."
              : "Stands in reports beside the time that it leaves out."
          }
          autosize
          minRows={2}
          required={correction}
          {...form.getInputProps("reason")}
        />
        <WhenFields form={form} fixed={maintenance !== undefined} />
        <ScopeFields form={form} />
        <SwitchFields form={form} />
        {refused && <Refusal>{refused}</Refusal>}
        {theirs !== null && (
          <Conflict
            differences={theirs === "reading" ? null : differing(theirs, form.values)}
            busy={change.isPending}
            overwrite={() => theirs !== "reading" && save(form.values, theirs.revision)}
            take={() => {
              setTheirs(null);
              if (theirs === "reading") return;
              form.setValues(draftOf(theirs, form.values.timezone, Date.now() / 1000));
              setRevision(theirs.revision);
            }}
          />
        )}
        <div className="actions">
          <Button primary type="submit" busy={create.isPending || change.isPending}>
            {maintenance ? "Save" : correction ? "Enter the correction" : "Plan it"}
          </Button>
          <ButtonLink to="/maintenance">Cancel</ButtonLink>
        </div>
      </form>
      <TimesCard form={form} />
    </div>
  );
}

/** Reads what somebody else saved; what is gone meanwhile says so when it is saved again. */
async function readTheirs(id: string, show: (theirs: Maintenance | "reading" | null) => void) {
  show("reading");
  const read = await http.GET("/api/v1/maintenance/{id}", { params: { path: { id } } }).catch(() => null);
  show(read?.data ?? null);
}

const differing = (theirs: Maintenance, mine: Draft) =>
  differences(draftOf(theirs, mine.timezone, Date.now() / 1000), mine, words, (value, field) =>
    chosen.includes(field) && Array.isArray(value) ? plural(value.length, "chosen", "chosen") : text(value),
  );

/** Fields that hold ids, which say nothing to people. */
const chosen: readonly (keyof Draft)[] = ["monitors", "fleets", "locations"];
