import { Textarea, TextInput } from "@mantine/core";
import { type UseFormReturnType, useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { api, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Button, ButtonLink } from "../../components/Button";
import { Refusal } from "../../components/Status";
import { showRefusal } from "../../lib/formErrors";
import { parseLabels } from "../../lib/labels";
import { bodyOf, type Draft, fieldOf } from "./draft";
import { ScopeFields } from "./ScopeFields";
import { SwitchFields } from "./SwitchFields";
import { TimesCard } from "./TimesCard";
import { WhenFields } from "./WhenFields";

export type MaintenanceForm = UseFormReturnType<Draft>;

const needed = "Say whom it covers: monitors, groups, labels or fleets. Or choose everything.";

/** The form of maintenance, with the times that it would come beside it. */
export function Editor({ initial, maintenance }: { initial: Draft; maintenance?: Schemas["Maintenance"] }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const create = api.useMutation("post", "/api/v1/maintenance");
  const change = api.useMutation("patch", "/api/v1/maintenance/{id}");
  const [conflict, setConflict] = useState(false);
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
  const save = (values: Draft, force: boolean) => {
    setRefused(null);
    setConflict(false);
    const body = bodyOf(values);
    const onError = (error: unknown) => {
      setConflict(problemOf(error).code === "revision");
      setRefused(showRefusal(form, error, (field) => fieldOf(field, values)));
    };
    const onSuccess = () => {
      void client.invalidateQueries({
        predicate: (query) => String(query.queryKey[1]).startsWith("/api/v1/maintenance"),
      });
      navigate("/maintenance");
    };
    if (maintenance)
      change.mutate(
        {
          params: {
            path: { id: maintenance.id },
            header: force ? {} : { "if-match": `"${maintenance.revision}"` },
          },
          body,
        },
        { onSuccess, onError },
      );
    else create.mutate({ body }, { onSuccess, onError });
  };
  const correction = initial.kind === "correction";
  return (
    <div className="two lean-left editor">
      <form className="card body form" onSubmit={form.onSubmit((values) => save(values, false))} noValidate>
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
        {conflict && maintenance && (
          <div className="actions">
            <a className="button" href={`/maintenance/${maintenance.id}/edit`} target="_blank" rel="noreferrer">
              See theirs in another tab
            </a>
            <Button onClick={() => form.onSubmit((values) => save(values, true))()}>Save mine over it</Button>
          </div>
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
