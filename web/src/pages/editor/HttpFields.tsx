import { TextInput } from "@mantine/core";
import { addressesOf, completeUrl, nameFor } from "./address";
import type { EditorForm } from "./form";
import { asKind, kindOfUrl, type TargetProps } from "./kinds";
import { ConnectionFields, RequestFields } from "./RequestFields";

/** The address that is looked at. */
export function HttpTarget({ form, fresh, several }: TargetProps) {
  const v = form.values;
  const complete = () => {
    if (v.url.trim() === "") return;
    const kind = kindOfUrl(v.url);
    if (fresh && kind !== null && kind !== "http") {
      form.setValues({ ...asKind(v, kind), url: v.url.trim() });
      return;
    }
    if (v.name.trim() === "") form.setFieldValue("name", nameFor(v.url));
    form.setFieldValue("url", completeUrl(v.url));
  };
  return (
    <TextInput
      label="Address"
      description={fresh ? "An http or https address. Paste several lines to add several monitors." : undefined}
      placeholder="https://shop.example/health"
      classNames={{ input: "mono-input" }}
      autoComplete="off"
      inputMode="url"
      autoFocus={fresh && v.url === ""}
      required
      {...form.getInputProps("url")}
      onBlur={complete}
      onPaste={(event) => {
        const lines = addressesOf(event.clipboardData.getData("text"));
        if (fresh && lines.length > 1) {
          event.preventDefault();
          several(lines);
        }
      }}
    />
  );
}

/** Request and connection. */
export function HttpMore({ form }: { form: EditorForm }) {
  return (
    <>
      <RequestFields form={form} />
      <ConnectionFields form={form} />
    </>
  );
}
