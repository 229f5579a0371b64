import { QueryClient } from "@tanstack/react-query";
import { problemOf } from "./problem";

/** Answers stay fresh for a few seconds; the event stream says sooner when something changed. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      refetchOnWindowFocus: true,
      retry: (failures, error) => {
        const status = problemOf(error).status;
        return failures < 2 && (status === null || status >= 500);
      },
    },
  },
});
