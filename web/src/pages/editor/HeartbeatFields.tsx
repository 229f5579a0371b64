import { Select, TextInput } from "@mantine/core";
import { cronWords } from "../../lib/cron";
import { zones } from "../../lib/zones";
import type { EditorForm } from "./form";
import type { TargetProps } from "./kinds";
import { SpanInput } from "./SpanInput";

/** When a job has to call. */
export function HeartbeatTarget({ form }: TargetProps) {
  const v = form.values;
  const words = cronWords(v.cron);
  return (
    <fieldset>
      <legend>The job calls</legend>
      <div className="stack">
        <div className="row">
          {(
            [
              ["every", "Every so often"],
              ["cron", "At set times"],
            ] as const
          ).map(([value, word]) => (
            <button
              key={value}
              type="button"
              className="button compact"
              aria-pressed={v.due === value}
              onClick={() => form.setFieldValue("due", value)}
            >
              {word}
            </button>
          ))}
        </div>
        {v.due === "cron" ? (
          <div className="fields">
            <TextInput
              label="Cron expression"
              description={words ? `${words.charAt(0).toUpperCase()}${words.slice(1)}` : "As in the crontab"}
              placeholder="30 2 * * *"
              classNames={{ input: "mono-input" }}
              required
              {...form.getInputProps("cron")}
            />
            <Select
              label="Time zone"
              description="On whose clock the job runs"
              searchable
              allowDeselect={false}
              data={zones(v.zone)}
              {...form.getInputProps("zone")}
            />
          </div>
        ) : (
          <div className="fields">
            <SpanInput
              label="Every"
              description="From one call to the next"
              value={v.period_s}
              onChange={(seconds) => form.setFieldValue("period_s", seconds)}
              error={form.errors.period_s}
            />
          </div>
        )}
        <div className="fields">
          <SpanInput
            label="Grace"
            description="So much later is still in time"
            placeholder="5"
            value={v.grace_s}
            onChange={(seconds) => form.setFieldValue("grace_s", seconds)}
            error={form.errors.grace_s}
          />
        </div>
      </div>
    </fieldset>
  );
}

/** How long a run may take. */
export function HeartbeatMore({ form }: { form: EditorForm }) {
  const v = form.values;
  return (
    <details open={v.max_run_s !== "" || undefined}>
      <summary>Runs</summary>
      <div className="form">
        <SpanInput
          label="A run takes at most"
          description="Counted from a call to /start. Without it, the next call is due as always."
          placeholder="not looked at"
          value={v.max_run_s}
          onChange={(seconds) => form.setFieldValue("max_run_s", seconds)}
          error={form.errors.max_run_s}
        />
      </div>
    </details>
  );
}
