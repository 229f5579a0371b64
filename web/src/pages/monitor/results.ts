import type { Schemas } from "../../api/client";

type Row = Schemas["ObservationRow"];

/** What a result was, in a few words: `HTTP 503`, `connect refused`. */
export function saw(row: Row): string {
  if (row.status)
    return row.class && row.class !== "status" ? `HTTP ${row.status}, ${classWords(row.class)}` : `HTTP ${row.status}`;
  return row.class ? classWords(row.class) : "";
}

export function classWords(name: string): string {
  return name.replace(/^(dns|tls|http)_/, (_, kind: string) => `${kind.toUpperCase()} `).replaceAll("_", " ");
}

/** The newest result of each location, by name. */
export function latestByLocation(rows: readonly Row[]): Row[] {
  const latest = new Map<string, Row>();
  for (const row of rows) {
    const there = latest.get(row.location);
    if (!there || there.at < row.at) latest.set(row.location, row);
  }
  return [...latest.values()].sort((a, b) => a.location_name.localeCompare(b.location_name));
}
