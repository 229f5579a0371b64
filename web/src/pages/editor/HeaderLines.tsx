import { TextInput } from "@mantine/core";
import { Button } from "../../components/Button";
import type { EditorForm } from "./form";

/** Names and values that are sent along, one line each. */
export function HeaderLines({ form, word = "header" }: { form: EditorForm; word?: string }) {
  return (
    <fieldset>
      <legend>{word === "header" ? "Headers" : "Metadata"}</legend>
      <div className="stack">
        {form.values.headers.map((_, i) => (
          <div className="line" key={i}>
            <TextInput
              aria-label={`Name of ${word} ${i + 1}`}
              placeholder="x-name"
              {...form.getInputProps(`headers.${i}.name`)}
            />
            <TextInput
              aria-label={`Value of ${word} ${i + 1}`}
              placeholder="value"
              {...form.getInputProps(`headers.${i}.value`)}
            />
            <Button compact aria-label={`Remove ${word} ${i + 1}`} onClick={() => form.removeListItem("headers", i)}>
              ×
            </Button>
          </div>
        ))}
        {form.errors.headers && <p className="refusal">{form.errors.headers}</p>}
        <div>
          <button
            type="button"
            className="link"
            onClick={() => form.insertListItem("headers", { name: "", value: "" })}
          >
            Add {word === "header" ? "a header" : "an entry"}
          </button>
        </div>
      </div>
    </fieldset>
  );
}
