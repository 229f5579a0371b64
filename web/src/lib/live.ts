/**
 * The stream of changes. Pages do not listen to it themselves: a message marks the answers that it may
 * have changed as stale, and what is on screen is asked for again. States and incidents within a
 * second; new results, which come all the time, every five. Fleets are polled; what is found in them is
 * told with the incident that comes of it.
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
}

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

/** Opens the stream and keeps it open; returns what closes it. */
export function follow(url: string, client: QueryClient): () => void {
  const wanted = new Set<"monitors" | "incidents" | "locations" | "results">();
  let soon: ReturnType<typeof setTimeout> | null = null;
  let later: ReturnType<typeof setTimeout> | null = null;
  const refresh = () => {
    const what = new Set(wanted);
    wanted.clear();
    void client.invalidateQueries({
      predicate: (query) =>
        (what.size > 0 && under(query, "/api/v1/overview")) ||
        ((what.has("monitors") || what.has("results")) && under(query, "/api/v1/monitors")) ||
        (what.has("incidents") && under(query, "/api/v1/incidents", "/api/v1/fleets")) ||
        (what.has("locations") && under(query, "/api/v1/locations", "/api/v1/agents", "/api/v1/health")),
    });
  };
  const hear = (event: MessageEvent<string>) => {
    const change = JSON.parse(event.data) as Change;
    if (change.missed) void client.invalidateQueries();
    if (change.monitors.length > 0) wanted.add("monitors");
    if (change.incidents.length > 0) wanted.add("incidents");
    if (change.locations) wanted.add("locations");
    if (wanted.size > 0)
      soon ??= setTimeout(() => {
        soon = null;
        refresh();
      }, 700);
    if (change.results)
      later ??= setTimeout(() => {
        later = null;
        wanted.add("results");
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
