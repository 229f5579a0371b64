import { Fieldset, NativeSelect, NumberInput, Select, Switch, TextInput } from "@mantine/core";
import { zones } from "../../lib/zones";
import type { MaintenanceForm } from "./Editor";

const week = [
  { value: "1", label: "Mon" },
  { value: "2", label: "Tue" },
  { value: "3", label: "Wed" },
  { value: "4", label: "Thu" },
  { value: "5", label: "Fri" },
  { value: "6", label: "Sat" },
  { value: "0", label: "Sun" },
];

const again = [
  { value: "daily", label: "Every day" },
  { value: "weekly", label: "On days of the week" },
  { value: "monthly", label: "On a day of the month" },
  { value: "cron", label: "As a cron expression says" },
];

/** When it comes. What comes once stays so, and what comes again too: `fixed`. */
export function WhenFields({ form, fixed }: { form: MaintenanceForm; fixed: boolean }) {
  const d = form.values;
  const once = d.repeat === "once";
  const choices = [{ value: "once", label: "Once" }, ...again].filter(
    (choice) => !fixed || (choice.value === "once") === once,
  );
  return (
    <Fieldset legend="When">
      <div className="form">
        <div className="fields roomy">
          {d.kind === "planned" && (
            <NativeSelect
              label="Comes"
              description={fixed ? "Plan another to change between once and again." : "Again: at most once an hour."}
              data={choices}
              disabled={choices.length === 1}
              {...form.getInputProps("repeat")}
            />
          )}
          <Select
            label="Time zone"
            description="On whose clocks the times are."
            searchable
            allowDeselect={false}
            data={zones(d.timezone)}
            {...form.getInputProps("timezone")}
          />
        </div>
        {once && (
          <div className="fields roomy">
            <TextInput type="datetime-local" label="From" required {...form.getInputProps("start")} />
            <TextInput type="datetime-local" label="To" required {...form.getInputProps("end")} />
          </div>
        )}
        {d.repeat === "weekly" && (
          <fieldset aria-describedby={form.errors.weekdays ? "weekdays-error" : undefined}>
            <legend>Days</legend>
            <div className="choices weekdays">
              {week.map((one) => (
                <label key={one.value} className="choice">
                  <input
                    type="checkbox"
                    checked={d.weekdays.includes(one.value)}
                    onChange={(event) => {
                      const rest = d.weekdays.filter((day) => day !== one.value);
                      form.setFieldValue("weekdays", event.currentTarget.checked ? [...rest, one.value] : rest);
                    }}
                  />
                  {one.label}
                </label>
              ))}
            </div>
            {form.errors.weekdays && (
              <span id="weekdays-error" className="mantine-InputWrapper-error" role="alert">
                {form.errors.weekdays}
              </span>
            )}
          </fieldset>
        )}
        {!once && (
          <div className="fields roomy">
            {d.repeat === "cron" && (
              <TextInput
                label="Cron expression"
                description="Minute, hour, day, month, day of the week."
                placeholder="0 2 * * 1-5"
                classNames={{ input: "mono-input" }}
                required
                {...form.getInputProps("cron")}
              />
            )}
            {d.repeat === "monthly" && (
              <NumberInput
                label="Day of the month"
                description="Months without it are left out."
                min={1}
                max={31}
                allowDecimal={false}
                required
                {...form.getInputProps("day")}
              />
            )}
            {d.repeat !== "cron" && (
              <TextInput
                type="time"
                label="At"
                description="Skipped by the clocks: right after the gap."
                required
                {...form.getInputProps("time")}
              />
            )}
            <NumberInput
              label="Lasts"
              description="Elapsed time, whatever clocks do."
              suffix={"\u00a0min"}
              min={1}
              required
              {...form.getInputProps("duration_min")}
            />
            <TextInput type="date" label="Last day" description="Empty: it goes on." {...form.getInputProps("until")} />
          </div>
        )}
        {!once && fixed && (
          <Switch
            label="Paused"
            description="Nothing begins while it is. What runs goes on until it is ended."
            {...form.getInputProps("paused", { type: "checkbox" })}
          />
        )}
      </div>
    </Fieldset>
  );
}
