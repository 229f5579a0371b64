import type { UseFormReturnType } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { http, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { useSettled } from "../../lib/useSettled";
import { bodyOf, type Draft, fieldOf, isAskable } from "./draft";

export type SloForm = UseFormReturnType<Draft>;

/**
 * The server's look at the form while one types: the rules that decide when it is saved, what is strange
 * about it, and what it would mean. A refusal stands at its field, until the next look finds none there.
 */
export function useCheck(form: SloForm): { check: Schemas["SloCheck"] | null; refused: string | null } {
  const draft = form.values;
  const rested = useSettled(draft, 300);
  const body = bodyOf(rested);
  const query = useQuery({
    queryKey: ["slo-check", body],
    enabled: isAskable(rested),
    staleTime: 30_000,
    retry: false,
    refetchInterval: false,
    placeholderData: (before: Schemas["SloCheck"] | undefined) => before,
    queryFn: async () => (await http.POST("/api/v1/slos/check", { body })).data,
  });
  const current = useRef(form);
  current.current = form;
  const placed = useRef<string | null>(null);
  const error = query.error;
  const answered = query.isFetching || query.isPlaceholderData ? null : query.dataUpdatedAt + query.errorUpdatedAt;
  useEffect(() => {
    if (answered === null) return;
    if (placed.current !== null) current.current.clearFieldError(placed.current);
    const problem = error ? problemOf(error) : null;
    placed.current = problem?.field ? fieldOf(problem.field, current.current.values) : null;
    if (placed.current !== null && problem) current.current.setFieldError(placed.current, problem.message);
  }, [answered, error]);
  const problem = error ? problemOf(error) : null;
  const loose = problem && (problem.field === null || fieldOf(problem.field, draft) === null);
  return {
    check: error ? null : (query.data ?? null),
    refused: loose ? (problem.field ? `${problem.field}: ${problem.message}` : problem.message) : null,
  };
}
