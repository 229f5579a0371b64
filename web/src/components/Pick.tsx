import { MultiSelect, Select } from "@mantine/core";
import type { ReactNode } from "react";
import { useState } from "react";
import { api } from "../api/client";
import { useSettled } from "../lib/useSettled";

/** Something that is chosen by name. */
export interface Known {
  id: string;
  name: string;
}

type Options = { value: string; label: string }[];

/** What was found, and what is chosen already. */
function optionsOf(chosen: readonly Known[], found: readonly Known[] | undefined): Options {
  const all = [...chosen, ...(found ?? [])];
  return [...new Map(all.map((one) => [one.id, one.name]))].map(([value, label]) => ({ value, label }));
}

/** Monitors whose name has the text in it, and those that are chosen already. */
function useMonitors(text: string, chosen: readonly Known[]): Options {
  const q = useSettled(text, 200);
  const found = api.useQuery(
    "get",
    "/api/v1/monitors",
    { params: { query: { limit: 50, ...(q ? { q } : {}) } } },
    { placeholderData: (before) => before },
  );
  return optionsOf(chosen, found.data?.items);
}

/** The same of SLOs. */
function useSlos(text: string, chosen: readonly Known[]): Options {
  const search = useSettled(text, 200);
  const found = api.useQuery(
    "get",
    "/api/v1/slos",
    { params: { query: { limit: 50, ...(search ? { search } : {}) } } },
    { placeholderData: (before) => before },
  );
  return optionsOf(chosen, found.data?.items);
}

interface One {
  label: string;
  description?: string;
  clearable?: boolean;
  chosen: readonly Known[];
  value: string;
  error?: ReactNode;
  onChange: (id: string) => void;
  /** The same with its name. */
  onPick?: (known: Known | null) => void;
}

/** What was picked, by id and name. */
function picked(id: string | null, data: Options): Known | null {
  const label = data.find((one) => one.value === id)?.label;
  return id && label ? { id, name: label } : null;
}

/** One monitor, found by typing. */
export function PickMonitor(props: One) {
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
      onChange={(id) => {
        props.onChange(id ?? "");
        props.onPick?.(picked(id, data));
      }}
    />
  );
}

interface Several {
  label: string;
  description: string;
  chosen: readonly Known[];
  value: string[];
  error?: ReactNode;
  onChange: (ids: string[]) => void;
}

/** Several monitors, found by typing. */
export function PickMonitors(props: Several) {
  return <PickSeveral {...props} find={useMonitors} nothing="No monitor of that name" />;
}

/** Several SLOs, found by typing. */
export function PickSlos(props: Several) {
  return <PickSeveral {...props} find={useSlos} nothing="No SLO of that name" />;
}

/** One SLO, found by typing. */
export function PickSlo(props: One) {
  const [text, setText] = useState("");
  const [seen, setSeen] = useState<readonly Known[]>(props.chosen);
  const known = seen.some((one) => one.name === text);
  const data = useSlos(known ? "" : text, seen);
  return (
    <Select
      label={props.label}
      description={props.description}
      placeholder="type a name"
      searchable
      nothingFoundMessage="No SLO of that name"
      data={data}
      value={props.value || null}
      error={props.error}
      onSearchChange={setText}
      onChange={(id) => {
        const known = picked(id, data);
        if (known) setSeen([known]);
        props.onChange(id ?? "");
        props.onPick?.(known);
      }}
    />
  );
}

function PickSeveral(props: Several & { find: (text: string, chosen: readonly Known[]) => Options; nothing: string }) {
  const [text, setText] = useState("");
  // What was found once keeps its name after the search moves on.
  const [seen, setSeen] = useState<readonly Known[]>(props.chosen);
  const { find: useFound } = props;
  const data = useFound(text, seen);
  return (
    <MultiSelect
      label={props.label}
      description={props.description}
      placeholder="type a name"
      searchable
      nothingFoundMessage={props.nothing}
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
