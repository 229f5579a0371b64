import { MultiSelect, NativeSelect, Select, Textarea, TextInput } from "@mantine/core";
import { api, type Schemas } from "../../api/client";
import { writeDays } from "../../lib/certificates";
import { plural } from "../../lib/format";
import { parseLabels } from "../../lib/labels";
import { useSettled } from "../../lib/useSettled";
import type { EditorForm } from "./form";
import { kindOf } from "./kinds";

/** Which locations look. */
export function WhereFields({
  form,
  locations,
  looksFrom,
}: {
  form: EditorForm;
  locations: readonly Schemas["Location"][];
  looksFrom: readonly Schemas["LocationRef"][];
}) {
  const v = form.values;
  const toggle = (name: string) =>
    form.setFieldValue("listed", v.listed.includes(name) ? v.listed.filter((n) => n !== name) : [...v.listed, name]);
  const chosen =
    looksFrom.length > 0 ? looksFrom : locations.filter((l) => v.from === "all" || v.listed.includes(l.name));
  const regions = new Set(chosen.map((l) => l.region)).size;
  const networks = new Set(chosen.map((l) => l.domain)).size;
  return (
    <fieldset>
      <legend>Locations</legend>
      <div className="stack">
        <div className="row">
          {(
            [
              ["all", "All"],
              ["listed", "Some"],
              ["labelled", "By label"],
            ] as const
          ).map(([value, word]) => (
            <button
              key={value}
              type="button"
              className="button compact"
              aria-pressed={v.from === value}
              onClick={() => {
                form.setFieldValue("from", value);
                if (value === "listed" && v.listed.length === 0)
                  form.setFieldValue(
                    "listed",
                    locations.map((l) => l.name),
                  );
              }}
            >
              {word}
            </button>
          ))}
        </div>
        {v.from === "listed" && (
          <div className="row" role="group" aria-label="Locations that look">
            {locations.map((l) => (
              <button
                key={l.id}
                type="button"
                className="chip"
                aria-pressed={v.listed.includes(l.name)}
                onClick={() => toggle(l.name)}
              >
                {l.name}
              </button>
            ))}
          </div>
        )}
        {v.from === "labelled" && (
          <Textarea
            aria-label="Labels that a location must have"
            placeholder="continent=eu"
            autosize
            minRows={1}
            {...form.getInputProps("location_labels")}
          />
        )}
        {form.errors.listed && <p className="refusal">{form.errors.listed}</p>}
        <p className="muted small">
          {chosen.length === 0
            ? "No location matches."
            : `${plural(chosen.length, "location")} in ${plural(regions, "region")} and ${plural(networks, "network")}.${chosen.every((l) => l.simulated) ? " All are simulated and share this machine's line." : ""}`}
        </p>
      </div>
    </fieldset>
  );
}

/** Who is told. */
export function ToldFields({ form, channels }: { form: EditorForm; channels: readonly Schemas["Channel"][] }) {
  const v = form.values;
  const escalations = api.useQuery("get", "/api/v1/escalations").data?.items ?? [];
  return (
    <fieldset>
      <legend>Told</legend>
      <div className="stack">
        <div className="row">
          <button
            type="button"
            className="button compact"
            aria-pressed={v.told === "default"}
            onClick={() => form.setFieldValue("told", "default")}
          >
            By the routes
          </button>
          <button
            type="button"
            className="button compact"
            aria-pressed={v.told === "listed"}
            onClick={() => form.setFieldValue("told", "listed")}
          >
            Only these channels
          </button>
          <button
            type="button"
            className="button compact"
            aria-pressed={v.told === "escalation"}
            onClick={() => form.setFieldValue("told", "escalation")}
          >
            An escalation
          </button>
        </div>
        {v.told === "listed" ? (
          <MultiSelect
            aria-label="Channels"
            data={channels.map((c) => ({ value: c.id, label: c.name }))}
            placeholder={v.channels.length === 0 ? "nobody is told" : ""}
            comboboxProps={{ transitionProps: { duration: 0 } }}
            {...form.getInputProps("channels")}
          />
        ) : v.told === "escalation" ? (
          <Select
            aria-label="Escalation"
            placeholder={escalations.length === 0 ? "none yet: add one under Alerting" : "choose one"}
            data={escalations.map((one) => ({ value: one.id, label: one.name }))}
            value={v.escalation || null}
            error={form.errors.escalation}
            onChange={(id) => form.setFieldValue("escalation", id ?? "")}
          />
        ) : (
          <ByRoutes labels={v.labels} />
        )}
        {kindOf(v.kind).subjects.includes("cert_days_left") && <CertificateDays form={form} />}
      </div>
    </fieldset>
  );
}

/** When it is told that a certificate ends. That never counts as an outage, unlike the days among the conditions. */
function CertificateDays({ form }: { form: EditorForm }) {
  const settings = api.useQuery("get", "/api/v1/settings/alerts", undefined, { staleTime: 60_000 });
  const common = settings.data ? writeDays(settings.data.certificate_days) : "";
  return (
    <TextInput
      label="A certificate ends: told at"
      description="Days left, with commas between; each is told once and is no outage. Left empty: as in the settings."
      placeholder={common}
      inputMode="numeric"
      {...form.getInputProps("certificate_days")}
    />
  );
}

/** Who would be told of a monitor with these labels. */
function ByRoutes({ labels }: { labels: string }) {
  const parsed = parseLabels(useSettled(labels, 400));
  const told = api.useQuery(
    "post",
    "/api/v1/routes/test",
    { body: { labels: parsed ?? {} } },
    { enabled: parsed !== null, placeholderData: (before) => before },
  );
  return <p className="muted small">{told.data && `By its labels: ${told.data.sentence}.`}</p>;
}

/** The instances behind the address: its incidents then show what their logs say. Absent where there is no fleet. */
export function FleetField({ form, fleets }: { form: EditorForm; fleets: readonly Schemas["Fleet"][] }) {
  const known = fleets.some((fleet) => fleet.id === form.values.fleet);
  if (fleets.length === 0 && form.values.fleet === "") return null;
  return (
    <NativeSelect
      label="Fleet behind it"
      description="Incidents then show what its access logs say of the same minutes."
      data={[
        { value: "", label: "None" },
        ...fleets.map((fleet) => ({ value: fleet.id, label: fleet.name })),
        ...(form.values.fleet !== "" && !known ? [{ value: form.values.fleet, label: "one that was deleted" }] : []),
      ]}
      {...form.getInputProps("fleet")}
    />
  );
}
