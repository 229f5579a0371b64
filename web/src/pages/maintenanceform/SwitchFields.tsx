import { Fieldset, Switch } from "@mantine/core";
import type { MaintenanceForm } from "./Editor";

/** What it does; of a correction, and of what is about locations alone, that is no choice. */
export function SwitchFields({ form }: { form: MaintenanceForm }) {
  const d = form.values;
  if (d.kind === "correction")
    return <p className="small soft">It leaves its span out of availability and SLOs, and does nothing else.</p>;
  if (d.locations.length > 0)
    return <p className="small soft">It leaves out what these locations see. Alerts are heard and probes go on.</p>;
  return (
    <Fieldset legend="What it does">
      <div className="form">
        <Switch
          label="Alerts are silent"
          description="From its start until two intervals after its end. What is still not up then is told, as begun at the end. An incident that was told before goes on being told."
          {...form.getInputProps("suppress_alerts", { type: "checkbox" })}
        />
        <Switch
          label="Left out of availability and SLOs"
          description="Neither up nor down. The figure with it counted stands beside, in every report."
          {...form.getInputProps("exclude_from_slo", { type: "checkbox" })}
        />
        <Switch
          label="Probes pause"
          description="Agents do not call at all. Off, results are still seen and kept."
          {...form.getInputProps("pause_probes", { type: "checkbox" })}
        />
      </div>
    </Fieldset>
  );
}
