import { Fieldset, MultiSelect, NativeSelect, TagsInput, Textarea } from "@mantine/core";
import { api } from "../../api/client";
import { PickMonitors } from "../../components/Pick";
import type { MaintenanceForm } from "./Editor";

/** Whom it covers. */
export function ScopeFields({ form }: { form: MaintenanceForm }) {
  const d = form.values;
  const monitors = api.useQuery("get", "/api/v1/monitors", { params: { query: { limit: 500 } } });
  const fleets = api.useQuery("get", "/api/v1/fleets");
  const locations = api.useQuery("get", "/api/v1/locations");
  const known = monitors.data?.items ?? [];
  const groups = [...new Set(known.map((one) => one.group).filter((group) => group !== ""))].sort();
  const named = (all: readonly { id: string; name: string }[] | undefined) =>
    (all ?? []).map((one) => ({ value: one.id, label: one.name }));
  const chosen = known.filter((one) => d.monitors.includes(one.id));
  return (
    <Fieldset legend="Whom it covers">
      <div className="form">
        <NativeSelect
          label="Covers"
          data={[
            { value: "some", label: "What is named here" },
            { value: "everything", label: "Everything: all monitors and fleets" },
          ]}
          {...form.getInputProps("covers")}
        />
        {d.covers === "some" && (
          <>
            {(d.monitors.length === 0 || monitors.data) && (
              <PickMonitors
                key={monitors.data ? "known" : "unknown"}
                label="Monitors"
                description="By name."
                chosen={chosen}
                value={d.monitors}
                error={form.errors.monitors}
                onChange={(ids) => form.setFieldValue("monitors", ids)}
              />
            )}
            <div className="fields roomy">
              <TagsInput
                label="Groups"
                description="Their monitors at the moment when it begins."
                placeholder={d.groups.length === 0 ? "type a group" : undefined}
                data={groups}
                {...form.getInputProps("groups")}
              />
              <Textarea
                label="Labels"
                description="Monitors that have all of these when it begins."
                placeholder="team=shop"
                autosize
                minRows={1}
                {...form.getInputProps("labels")}
              />
            </div>
            {(fleets.data?.items.length ?? 0) > 0 && (
              <MultiSelect
                label="Fleets"
                description="Their alerts are silent. A fleet has no probes to pause."
                data={named(fleets.data?.items)}
                {...form.getInputProps("fleets")}
              />
            )}
          </>
        )}
        <MultiSelect
          label="Only what these locations see"
          description="Empty: the whole monitor. Named here, it leaves out their results and does nothing else: the others still watch."
          data={named(locations.data?.items)}
          {...form.getInputProps("locations")}
        />
      </div>
    </Fieldset>
  );
}
