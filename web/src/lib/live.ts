/**
 * The stream of changes. Pages do not listen to it themselves: a message marks the answers that it may
 * have changed as stale, and what is on screen is asked for again. States and incidents within a
 * second, and fleets of which something was judged or found; new results and lines, which come all the
 * time, every five.
 */
import type { Query, QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";

export type LiveState = { live: boolean; since: number | null };

/** The data of a `change` event. */
interface Change {
  /** Something was not heard: everything may have changed. */
  missed?: boolean;
  monitors: string[];
  incidents: string[];
  locations: boolean;
  results: boolean;
  /** Both absent from a coordinator that is older than these pages. */
  fleets?: string[];
  lines?: boolean;
}

/** While the stream is cut, or a word of it was lost, fleets are asked for this often (ms). */
export const SLOWLY = 60_000;

let state: LiveState = { live: false, since: null };
const listeners = new Set<() => void>();

function set(live: boolean) {
  if (live === state.live && state.since !== null) return;
  state = { live, since: Math.floor(Date.now() / 1000) };
  for (const tell of listeners) tell();
}

export function useLive(): LiveState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}

const under = (query: Query, ...paths: string[]) => {
  const path = query.queryKey[1];
  return typeof path === "string" && paths.some((p) => path === p || path.startsWith(`${p}/`));
};

/** What is asked of one of these fleets, and what may show any of them. */
function ofFleets(query: Query, ids: ReadonlySet<string>): boolean {
  const [, path, init] = query.queryKey;
  // An incident shows what is found in its fleet meanwhile.
  if (path === "/api/v1/fleets" || path === "/api/v1/incidents/{id}") return true;
  if (typeof path !== "string" || !path.startsWith("/api/v1/fleets/{id}")) return false;
  return ids.has((init as { params?: { path?: { id?: string } } } | undefined)?.params?.path?.id ?? "");
}

/** What the overview shows. */
const watched = ["monitors", "incidents", "locations", "results"] as const;

/** What new lines change at once: how far the sources are. */
const saysHowFar = ["/api/v1/fleets", "/api/v1/fleets/{id}", "/api/v1/fleets/{id}/sources"];

/** Opens the stream and keeps it open; returns what closes it. */
export function follow(url: string, client: QueryClient): () => void {
  const wanted = new Set<"monitors" | "incidents" | "locations" | "results" | "fleets" | "lines">();
  const fleets = new Set<string>();
  const slowly = new Set<"results" | "lines">();
  let soon: ReturnType<typeof setTimeout> | null = null;
  let later: ReturnType<typeof setTimeout> | null = null;
  const refresh = () => {
    const what = new Set(wanted);
    const whose = new Set(fleets);
    wanted.clear();
    fleets.clear();
    void client.invalidateQueries({
      predicate: (query) =>
        (watched.some((one) => what.has(one)) && under(query, "/api/v1/overview")) ||
        (what.has("fleets") && ofFleets(query, whose)) ||
        (what.has("lines") && saysHowFar.includes(String(query.queryKey[1]))) ||
        ((what.has("monitors") || what.has("results")) && under(query, "/api/v1/monitors")) ||
        (what.has("monitors") && under(query, "/api/v1/failover")) ||
        (what.has("incidents") && under(query, "/api/v1/incidents")) ||
        (what.has("locations") && under(query, "/api/v1/locations", "/api/v1/agents", "/api/v1/health")),
    });
  };
  const hear = (event: MessageEvent<string>) => {
    const change = JSON.parse(event.data) as Change;
    if (change.missed) void client.invalidateQueries();
    if (change.monitors.length > 0) wanted.add("monitors");
    if (change.incidents.length > 0) wanted.add("incidents");
    if (change.locations) wanted.add("locations");
    for (const id of change.fleets ?? []) {
      wanted.add("fleets");
      fleets.add(id);
    }
    if (wanted.size > 0)
      soon ??= setTimeout(() => {
        soon = null;
        refresh();
      }, 700);
    if (change.results) slowly.add("results");
    if (change.lines) slowly.add("lines");
    if (slowly.size > 0)
      later ??= setTimeout(() => {
        later = null;
        for (const one of slowly) wanted.add(one);
        slowly.clear();
        refresh();
      }, 5000);
  };
  let source: EventSource | null = null;
  let again: ReturnType<typeof setTimeout> | null = null;
  const open = () => {
    source = new EventSource(url);
    source.addEventListener("change", hear);
    source.onopen = () => {
      // What happened while the link was lost was not heard.
      if (!state.live && state.since !== null) void client.invalidateQueries();
      set(true);
    };
    source.onerror = () => {
      set(false);
      // The browser tries again by itself after a cut, but not after a refusal.
      if (source?.readyState === EventSource.CLOSED) again = setTimeout(open, 5000);
    };
  };
  open();
  return () => {
    source?.close();
    for (const timer of [soon, later, again]) if (timer) clearTimeout(timer);
  };
}
