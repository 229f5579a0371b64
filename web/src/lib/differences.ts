/** What differs between two drafts of the same form, in the words of its fields. */

import { NONE } from "./format";

export interface Words {
  label: string;
  theirs: string;
  mine: string;
}

/** One row for each field that was saved otherwise; `labels` names the fields and gives their order. */
export function differences<T extends object>(
  theirs: T,
  mine: T,
  labels: { readonly [K in keyof T]?: string },
  write: (value: unknown, field: keyof T) => string = text,
): Words[] {
  return (Object.keys(labels) as (keyof T)[])
    .filter((field) => JSON.stringify(theirs[field]) !== JSON.stringify(mine[field]))
    .map((field) => ({
      label: labels[field] ?? String(field),
      theirs: write(theirs[field], field),
      mine: write(mine[field], field),
    }));
}

/** A value as people read it; nothing is a dash. */
export function text(value: unknown): string {
  if (value === null || value === undefined || value === "") return NONE;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.length === 0 ? NONE : value.map(text).join(", ");
  if (typeof value === "object") return Object.values(value).map(text).join(" · ");
  return String(value);
}
