import { Fieldset, NativeSelect, NumberInput } from "@mantine/core";
import { api, type Schemas } from "../../api/client";
import { PickMonitor, PickMonitors } from "../../components/Pick";
import type { SloForm } from "./useCheck";

/** What it is about, and what counts as good. */
export function SubjectFields({ form, slo }: { form: SloForm; slo: Schemas["Slo"] | undefined }) {
  const fleets = api.useQuery("get", "/api/v1/fleets");
  const d = form.values;
  const of = (list: (Schemas["SloWatched"] | null | undefined)[]) => list.filter((one) => one != null);
  return (
    <Fieldset legend="What it is about">
      <div className="fields roomy">
        <NativeSelect
          label="About"
          description="Whose behaviour is judged."
          data={[
            { value: "monitor", label: "One monitor" },
            { value: "composite", label: "Several monitors together" },
            { value: "fleet", label: "The requests of a fleet" },
          ]}
          {...form.getInputProps("subject")}
        />
        {d.subject === "monitor" && (
          <PickMonitor
            label="Monitor"
            description="Its past counts at once."
            chosen={of([slo?.monitor])}
            {...form.getInputProps("monitor")}
            value={d.monitor}
          />
        )}
        {d.subject === "composite" && (
          <>
            <PickMonitors
              label="Monitors"
              description="Judged together, on one timeline."
              chosen={slo?.members ?? []}
              {...form.getInputProps("members")}
              value={d.members}
            />
            <NativeSelect
              label="Down when"
              description="A redundant pair is down when all are."
              data={[
                { value: "any_down", label: "any of them is down" },
                { value: "all_down", label: "all of them are down" },
              ]}
              {...form.getInputProps("composite")}
            />
          </>
        )}
        {d.subject === "fleet" && (
          <>
            <NativeSelect
              label="Fleet"
              description="Its balancer's log tells which requests failed."
              data={[
                { value: "", label: "Choose one" },
                ...(fleets.data?.items ?? []).map((fleet) => ({ value: fleet.id, label: fleet.name })),
              ]}
              {...form.getInputProps("fleet")}
            />
            <NumberInput
              label="Answered within"
              description="Slower ones are bad, counted from when this is set. Empty: any time will do."
              suffix={"\u00a0ms"}
              min={0.001}
              {...form.getInputProps("within_ms")}
            />
            <PickMonitor
              label="Quiet minutes by"
              description="A monitor that speaks for minutes with few requests. Empty: they count like all others."
              clearable
              chosen={of([slo?.subject === "fleet" ? slo.monitor : null])}
              {...form.getInputProps("fallback")}
              value={d.fallback}
            />
            {d.fallback !== "" && (
              <NumberInput
                label="Quiet below"
                description="Requests in a minute."
                min={1}
                allowDecimal={false}
                {...form.getInputProps("min_requests")}
              />
            )}
          </>
        )}
      </div>
      {d.subject === "monitor" && <IndicatorFields form={form} />}
    </Fieldset>
  );
}

function IndicatorFields({ form }: { form: SloForm }) {
  const d = form.values;
  return (
    <div className="fields roomy">
      <NativeSelect
        label="Good is"
        description="Time is exact to the millisecond; probes count one by one."
        data={[
          { value: "availability", label: "Time in which it is up" },
          { value: "probe_ratio", label: "Probes that pass" },
          { value: "latency", label: "Probes that are quick" },
        ]}
        {...form.getInputProps("sli")}
      />
      {d.sli === "probe_ratio" && (
        <NativeSelect
          label="Locations"
          description="Pooled: each probe counts alike. Mean: each location does."
          data={[
            { value: "pooled", label: "pooled" },
            { value: "location_mean", label: "mean of the locations" },
          ]}
          {...form.getInputProps("weight")}
        />
      )}
      {d.sli === "latency" && (
        <>
          <NumberInput
            label="Quick is at most"
            description="The whole duration, this value included."
            suffix={"\u00a0ms"}
            min={0.001}
            {...form.getInputProps("threshold_ms")}
          />
          <NativeSelect
            label="Out of"
            description="Failures are usually charged to availability."
            data={[
              { value: "ok_only", label: "probes that pass" },
              { value: "all", label: "all probes; a failure is slow" },
            ]}
            {...form.getInputProps("denominator")}
          />
        </>
      )}
    </div>
  );
}
