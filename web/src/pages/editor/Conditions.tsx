import { Select, TextInput } from "@mantine/core";
import { Button } from "../../components/Button";
import { argOf, hint, kindOf, opsOf, opWords, subjects, takesValue } from "../../lib/assertions";
import type { EditorForm } from "./form";

/** "It is well when": one line per condition, all must hold. */
export function Conditions({ form, remark }: { form: EditorForm; remark: React.ReactNode }) {
  const lines = form.values.assertions;
  return (
    <fieldset>
      <legend>It is well when</legend>
      <div className="stack">
        {lines.length === 0 && <p className="muted small">The final status is 2xx.</p>}
        {lines.map((line, i) => {
          const arg = argOf(line.on);
          const at = `assertions.${i}`;
          const n = `of condition ${i + 1}`;
          return (
            <div className={`line condition${arg ? " with-arg" : ""}`} key={i}>
              <Select
                aria-label={`Subject ${n}`}
                data={subjects.map((s) => ({ value: s.on, label: s.word }))}
                value={line.on}
                error={form.errors[`${at}.on`]}
                onChange={(on) => {
                  if (!on) return;
                  form.setFieldValue(at, {
                    ...line,
                    on,
                    op: opsOf(on).includes(line.op) ? line.op : (opsOf(on)[0] ?? "eq"),
                    arg: argOf(on) ? line.arg : "",
                  });
                  form.clearFieldError(`${at}.value`);
                }}
              />
              {arg && (
                <TextInput
                  aria-label={`${arg === "path" ? "JSONPath" : "Header name"} ${n}`}
                  placeholder={arg === "path" ? "$.status" : "content-type"}
                  {...form.getInputProps(`${at}.arg`)}
                />
              )}
              <Select
                aria-label={`Operator ${n}`}
                data={opsOf(line.on).map((op) => ({ value: op, label: opWords[op] ?? op }))}
                {...form.getInputProps(`${at}.op`)}
              />
              {takesValue(line.op) ? (
                <TextInput
                  aria-label={`Value ${n}`}
                  placeholder={hint(line.on, line.op)}
                  rightSection={
                    kindOf(line.on) === "number" ? (
                      <span className="muted small">{subjects.find((s) => s.on === line.on)?.unit}</span>
                    ) : undefined
                  }
                  rightSectionWidth={44}
                  {...form.getInputProps(`${at}.value`)}
                />
              ) : (
                <span />
              )}
              <Button
                compact
                aria-label={`Remove condition ${i + 1}`}
                onClick={() => form.removeListItem("assertions", i)}
              >
                ×
              </Button>
            </div>
          );
        })}
        {remark}
        <div>
          <button
            type="button"
            className="link"
            onClick={() =>
              form.insertListItem(
                "assertions",
                lines.some((l) => l.on === "status")
                  ? { on: "body", arg: "", op: "contains", value: "" }
                  : { on: "status", arg: "", op: "in", value: "2xx" },
              )
            }
          >
            Add a condition
          </button>
        </div>
      </div>
    </fieldset>
  );
}
