import { useQuery } from "@tanstack/react-query";
import { http } from "../../api/client";
import { problemOf } from "../../api/problem";
import { useSettled } from "../../lib/useSettled";
import { fieldOf } from "./draft";

/** The next times of an expression, as the server reads it; while one types. */
export function useTimes(cron: string, timezone: string) {
  const asked = useSettled({ cron: cron.trim(), timezone }, 300);
  const query = useQuery({
    queryKey: ["report-times", asked],
    enabled: asked.cron !== "",
    retry: false,
    refetchInterval: false,
    queryFn: async () => (await http.POST("/api/v1/reports/schedules/check", { body: asked })).data,
  });
  const problem = query.error ? problemOf(query.error) : null;
  const field = problem?.field ? fieldOf(problem.field) : null;
  return {
    upcoming: query.data?.upcoming ?? null,
    /** What is wrong with the expression, or with the zone. */
    refused: problem,
    cronRefused: field === "cron" ? problem?.message : undefined,
    zoneRefused: field === "timezone" ? problem?.message : undefined,
  };
}
