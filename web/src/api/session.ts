import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, http, type Schemas } from "./client";

export type Role = Schemas["Role"];
export type Me = Schemas["Me"];

const order: readonly Role[] = ["viewer", "editor", "admin"];

/** Who is signed in; the shell is only drawn when somebody is. */
export function useMe(): Me | null {
  return api.useQuery("get", "/api/v1/session", undefined, { staleTime: 60_000, retry: false }).data ?? null;
}

/** Whether the viewer may do what needs a role. What is not allowed is absent from the page. */
export function useRole(): (least: Role) => boolean {
  const role = useMe()?.role;
  return (least) => role !== undefined && order.indexOf(role) >= order.indexOf(least);
}

/** Ends the session and forgets everything that was read with it. */
export function useSignOut() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => http.DELETE("/api/v1/session"),
    onSettled: () => client.clear(),
  });
}
