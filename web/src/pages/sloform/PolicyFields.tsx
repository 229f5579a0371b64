import { NativeSelect, NumberInput, TextInput } from "@mantine/core";
import type { SloForm } from "./useCheck";

/** How time that is neither up nor down is judged. */
export function PolicyFields({ form }: { form: SloForm }) {
  const d = form.values;
  const time = d.subject === "composite" || (d.subject === "monitor" && d.sli === "availability");
  return (
    <div className="fields roomy">
      <NativeSelect
        label="Unknown time"
        description="When too few locations reported."
        data={[
          { value: "exclude", label: "is left out, and told" },
          { value: "up", label: "counts as up" },
          { value: "down", label: "counts as down" },
        ]}
        {...form.getInputProps("unknown_policy")}
      />
      <NativeSelect
        label="Maintenance"
        description="Only what was declared before it began."
        data={[
          { value: "exclude", label: "is left out" },
          { value: "count_as_up", label: "counts as up" },
          { value: "ignore", label: "is only a label" },
        ]}
        {...form.getInputProps("maintenance_policy")}
      />
      <NumberInput
        label="Known at least"
        description="Below it there is no verdict, and alerts hold still."
        suffix={"\u00a0%"}
        min={0}
        max={100}
        {...form.getInputProps("coverage_min")}
      />
      {time && (
        <NumberInput
          label="Partial time is bad by"
          description="0: only down is bad. 100: partial is as bad."
          suffix={"\u00a0%"}
          min={0}
          max={100}
          {...form.getInputProps("partial_weight")}
        />
      )}
      <NumberInput
        label="Decimals"
        description="Of percentages, which are cut off there."
        min={0}
        max={9}
        allowDecimal={false}
        {...form.getInputProps("decimals")}
      />
      {d.kind === "calendar" && (
        <TextInput
          label="Counted from"
          description="A date; empty: the calendar's own first day."
          placeholder="2026-01-15"
          {...form.getInputProps("anchor")}
        />
      )}
    </div>
  );
}
