import { Fieldset, NativeSelect, NumberInput, Select, TextInput } from "@mantine/core";
import type { Schemas } from "../../api/client";
import { zones } from "../../lib/zones";
import type { SloForm } from "./useCheck";

/** The objective, and the span of time that it holds for. */
export function WindowFields({ form, check }: { form: SloForm; check: Schemas["SloCheck"] | null }) {
  const d = form.values;
  // What would be refused when it is saved is said while one types.
  const tooFine = check?.refused ? `The objective ${check.refused}.` : undefined;
  return (
    <Fieldset legend="Objective and window">
      <div className="fields roomy">
        <TextInput
          label="Objective"
          description="Percent that must be good. Neither 0 nor 100."
          rightSection="%"
          inputMode="decimal"
          required
          {...form.getInputProps("target")}
          error={form.errors.target ?? tooFine}
        />
        <NativeSelect
          label="Window"
          description="Calendar ones end and give a report."
          data={[
            { value: "calendar", label: "Calendar" },
            { value: "rolling", label: "Rolling" },
            { value: "fixed", label: "From one date to another" },
          ]}
          {...form.getInputProps("kind")}
        />
        {d.kind === "rolling" && (
          <NumberInput
            label="Length"
            description="The last so many days, each of 24 h."
            suffix={"\u00a0days"}
            min={1}
            max={400}
            allowDecimal={false}
            {...form.getInputProps("days")}
          />
        )}
        {d.kind === "calendar" && (
          <NativeSelect
            label="Period"
            description="As long as it is on the calendar, DST included."
            data={[
              { value: "1d", label: "Day" },
              { value: "1w", label: "Week, from Monday" },
              { value: "1M", label: "Month" },
              { value: "1Q", label: "Quarter" },
              { value: "1Y", label: "Year" },
            ]}
            {...form.getInputProps("period")}
          />
        )}
        {d.kind === "fixed" && (
          <>
            <TextInput
              label="From"
              description="A date of the zone, or an instant."
              placeholder="2026-11-01"
              {...form.getInputProps("from")}
            />
            <TextInput
              label="To"
              description="That day is not part of it any more."
              placeholder="2026-12-01"
              {...form.getInputProps("to")}
            />
          </>
        )}
        <Select
          label="Time zone"
          description="For the window's ends, its days and reports."
          searchable
          allowDeselect={false}
          data={zones(d.timezone)}
          {...form.getInputProps("timezone")}
        />
      </div>
    </Fieldset>
  );
}
