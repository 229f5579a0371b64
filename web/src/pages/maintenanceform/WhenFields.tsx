import { Chip, Fieldset, Group, Input, NativeSelect, NumberInput, Select, Switch, TextInput } from "@mantine/core";
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
          <Input.Wrapper label="Days" error={form.errors.weekdays} labelElement="div">
            <Chip.Group multiple {...form.getInputProps("weekdays")}>
              <Group gap={6} role="group" aria-label="Days of the week">
                {week.map((one) => (
                  <Chip key={one.value} value={one.value} size="sm" variant="outline">
                    {one.label}
                  </Chip>
                ))}
              </Group>
            </Chip.Group>
          </Input.Wrapper>
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
