import { MultiSelect, Select } from "@mantine/core";
import type { ReactNode } from "react";
import { useState } from "react";
import { api } from "../../api/client";
import { useSettled } from "../../lib/useSettled";

/** Something that is chosen by name. */
export interface Known {
  id: string;
  name: string;
}

/** Monitors whose name has the text in it, and those that are chosen already. */
function useMonitors(text: string, chosen: readonly Known[]): { value: string; label: string }[] {
  const q = useSettled(text, 200);
  const found = api.useQuery(
    "get",
    "/api/v1/monitors",
    { params: { query: { limit: 50, ...(q ? { q } : {}) } } },
    { placeholderData: (before) => before },
  );
  const all = [...chosen, ...(found.data?.items ?? [])];
  return [...new Map(all.map((one) => [one.id, one.name]))].map(([value, label]) => ({ value, label }));
}

/** One monitor, found by typing. */
export function PickMonitor(props: {
  label: string;
  description: string;
  clearable?: boolean;
  chosen: readonly Known[];
  value: string;
  error?: ReactNode;
  onChange: (id: string) => void;
}) {
  const [text, setText] = useState("");
  // One that was named in the address is not among the first that are listed.
  const own = api.useQuery(
    "get",
    "/api/v1/monitors/{id}",
    { params: { path: { id: props.value } } },
    { enabled: props.value !== "" && !props.chosen.some((one) => one.id === props.value) },
  );
  const chosen = own.data ? [...props.chosen, own.data] : props.chosen;
  // The field holds the name of what is chosen, which is no search.
  const known = chosen.some((one) => one.name === text);
  const data = useMonitors(known ? "" : text, chosen);
  return (
    <Select
      label={props.label}
      description={props.description}
      placeholder="type a name"
      searchable
      clearable={props.clearable}
      nothingFoundMessage="No monitor of that name"
      data={data}
      value={props.value || null}
      error={props.error}
      onSearchChange={setText}
      onChange={(id) => props.onChange(id ?? "")}
    />
  );
}

/** Several monitors, found by typing. */
export function PickMonitors(props: {
  label: string;
  description: string;
  chosen: readonly Known[];
  value: string[];
  error?: ReactNode;
  onChange: (ids: string[]) => void;
}) {
  const [text, setText] = useState("");
  // What was found once keeps its name after the search moves on.
  const [seen, setSeen] = useState<readonly Known[]>(props.chosen);
  const data = useMonitors(text, seen);
  return (
    <MultiSelect
      label={props.label}
      description={props.description}
      placeholder="type a name"
      searchable
      nothingFoundMessage="No monitor of that name"
      data={data}
      value={props.value}
      error={props.error}
      onSearchChange={setText}
      onChange={(ids) => {
        const names = new Map(data.map((one) => [one.value, one.label]));
        setSeen(ids.map((id) => ({ id, name: names.get(id) ?? id })));
        props.onChange(ids);
      }}
    />
  );
}
