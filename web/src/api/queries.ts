import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { problemOf } from "./problem";

let expired = false;
const listeners = new Set<() => void>();

/** Whether the sign-in has ended while a page is open; the shell then asks for the password over it. */
export function useExpired(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => expired,
  );
}

export function setExpired(value: boolean) {
  if (value === expired) return;
  expired = value;
  for (const tell of listeners) tell();
}

const notice = (error: unknown) => {
  if (problemOf(error).status === 401) setExpired(true);
};

/** Answers stay fresh for a few seconds; the event stream says sooner when something changed. */
export const queryClient = new QueryClient({
  // Signing in and out answer 401 themselves; the session's own query decides about the page.
  queryCache: new QueryCache({ onError: (error, query) => query.queryKey[1] !== "/api/v1/session" && notice(error) }),
  mutationCache: new MutationCache({
    onError: (error, _variables, _context, mutation) =>
      mutation.options.mutationKey?.[1] !== "/api/v1/session" && notice(error),
  }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // Polled as well, slowly: a proxy may cut the event stream.
      refetchInterval: 30_000,
      refetchOnWindowFocus: true,
      retry: (failures, error) => {
        const status = problemOf(error).status;
        return failures < 2 && (status === null || status >= 500);
      },
    },
  },
});
