import { NativeSelect } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { kindWord } from "../../lib/fleets";
import { type Draft, kinds, severities } from "./draft";

/** What of each kind of finding becomes an incident, where that is not what holds for all. */
export function KindFields({ form }: { form: UseFormReturnType<Draft> }) {
  return (
    <>
      <p className="small soft">
        Exceptions from what becomes an incident. Restarts count by their number unless something is chosen here.
      </p>
      <div className="fields">
        {kinds.map((kind) => (
          <NativeSelect
            key={kind}
            label={kindWord(kind)}
            data={[{ value: "", label: kind === "restart" ? "By their number" : "As all findings" }, ...severities]}
            {...form.getInputProps(`kinds.${kind}`)}
          />
        ))}
      </div>
    </>
  );
}
