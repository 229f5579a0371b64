import { MultiSelect } from "@mantine/core";
import { api } from "../../api/client";
import type { EditorForm } from "./form";

/** The monitors without which this one cannot be up. Absent where there is no other monitor. */
export function ParentsField({ form, own }: { form: EditorForm; own: string | null }) {
  const monitors = api.useQuery("get", "/api/v1/monitors", { params: { query: { limit: 500 } } });
  const chosen = form.values.depends_on;
  const others = (monitors.data?.items ?? []).filter((monitor) => monitor.id !== own);
  const gone = monitors.data ? chosen.filter((id) => !others.some((monitor) => monitor.id === id)) : [];
  if (others.length === 0 && chosen.length === 0) return null;
  return (
    <MultiSelect
      label="Depends on"
      description="While one of these is down, alerts about this monitor are held back; its incident is not."
      placeholder={chosen.length === 0 ? "nothing" : ""}
      searchable
      data={[
        ...others.map((monitor) => ({ value: monitor.id, label: monitor.name })),
        ...gone.map((id) => ({ value: id, label: "one that is not in this list" })),
      ]}
      comboboxProps={{ transitionProps: { duration: 0 } }}
      {...form.getInputProps("depends_on")}
    />
  );
}
