import { Select, TextInput } from "@mantine/core";
import { Button } from "../../components/Button";
import { argOf, hint, kindOf, type Line, opsOf, opWords, startOf, subjects, takesValue } from "../../lib/assertions";
import { wellWords } from "../../lib/checks";
import type { EditorForm } from "./form";
import { kindOf as checkKind } from "./kinds";

const quantifiers = [
  { value: "any", label: "any" },
  { value: "all", label: "every" },
  { value: "none", label: "no" },
];

/** "It is well when": one line per condition, all must hold. */
export function Conditions({ form, remark }: { form: EditorForm; remark: React.ReactNode }) {
  const lines = form.values.assertions;
  const kind = checkKind(form.values.kind);
  const offered = (on: string) =>
    subjects.filter((s) => kind.subjects.includes(s.on) || s.on === on).map((s) => ({ value: s.on, label: s.word }));
  return (
    <fieldset>
      <legend>It is well when</legend>
      <div className="stack">
        {lines.length === 0 && <p className="muted small">{wellSentence(kind.kind)}</p>}
        {lines.map((line, i) => {
          const arg = argOf(line.on);
          const at = `assertions.${i}`;
          const n = `of condition ${i + 1}`;
          return (
            <div className={`line condition${arg ? " with-arg" : ""}`} key={i}>
              <Select
                aria-label={`Subject ${n}`}
                data={offered(line.on)}
                value={line.on}
                error={form.errors[`${at}.on`]}
                onChange={(on) => {
                  if (!on) return;
                  form.setFieldValue(at, {
                    ...line,
                    on,
                    op: opsOf(on).includes(line.op) ? line.op : (opsOf(on)[0] ?? "eq"),
                    arg: argOf(on) === argOf(line.on) ? line.arg : startOf(on),
                  });
                  form.clearFieldError(`${at}.value`);
                }}
              />
              {arg === "quantifier" && (
                <Select
                  aria-label={`How many records ${n}`}
                  data={quantifiers}
                  allowDeselect={false}
                  {...form.getInputProps(`${at}.arg`)}
                />
              )}
              {(arg === "path" || arg === "name") && (
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
            onClick={() => form.insertListItem("assertions", next(kind.subjects, lines))}
          >
            Add a condition
          </button>
        </div>
      </div>
    </fieldset>
  );
}

/** A condition to begin with: on the likeliest thing that no condition looks at yet. */
function next(offered: readonly string[], lines: Line[]): Line {
  const on = offered.find((one) => !lines.some((line) => line.on === one)) ?? offered[0] ?? "latency_ms";
  return { on, arg: startOf(on), op: opsOf(on)[0] ?? "eq", value: on === "status" ? "2xx" : "" };
}

/** "The name server answers NOERROR." */
function wellSentence(kind: string): string {
  const text = wellWords[kind] ?? "";
  return text === "" ? "" : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
