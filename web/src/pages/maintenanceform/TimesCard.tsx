import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { http, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Card } from "../../components/Card";
import { Empty, Loading } from "../../components/Status";
import { comesWords, lasts, spanWords } from "../../lib/maintenance";
import { useNow } from "../../lib/ticker";
import { epoch, utc, zoneLabel } from "../../lib/time";
import { useSettled } from "../../lib/useSettled";
import { ownZone } from "../../lib/zones";
import { cronOfDraft, type Draft, fieldOf, instantOfField, untilOf } from "./draft";
import type { MaintenanceForm } from "./Editor";

/** The next times, as the server works them out: on the clocks of the zone, and on the viewer's own. */
export function TimesCard({ form }: { form: MaintenanceForm }) {
  const now = useNow();
  const d = form.values;
  const times = useTimes(form);
  const own = ownZone();
  const both = own !== d.timezone;
  return (
    <Card
      title={d.repeat === "once" ? "When it is" : "The next times"}
      beside={d.repeat !== "once" && `${comesWords(cronOfDraft(d))}, ${lasts((d.duration_min || 0) * 60)}`}
      footer={
        d.repeat !== "once" &&
        "A time that clocks skip comes right after the gap; one that they repeat comes once. Each lasts as long as it says."
      }
    >
      {times.pending && <Loading rows={5} height={30} />}
      {times.list.length === 0 && !times.pending && (
        <Empty>{times.refused ?? "It does not come with what is written here."}</Empty>
      )}
      {times.list.length > 0 && (
        <div className="scroll-x">
          <table className="grid dense" aria-live="polite">
            <caption className="hidden-visually">When it comes</caption>
            <thead>
              <tr>
                <th scope="col">In {d.timezone}</th>
                {both && <th scope="col">For you, {zoneLabel(now)}</th>}
              </tr>
            </thead>
            <tbody>
              {times.list.map((one) => (
                <tr key={one.start}>
                  <th scope="row" className="small-weight" title={utc(one.start)}>
                    {spanWords(one.start, one.end, now, d.timezone)}
                  </th>
                  {both && <td>{spanWords(one.start, one.end, now)}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

interface Times {
  list: { start: number; end: number }[];
  pending: boolean;
  refused: string | null;
}

/** What once says itself; what comes again is asked for, and a refusal stands at its field while one types. */
function useTimes(form: MaintenanceForm): Times {
  const d = form.values;
  const asked = useSettled(question(d), 300);
  const query = useQuery({
    queryKey: ["maintenance-preview", asked],
    enabled: asked !== null,
    retry: false,
    refetchInterval: false,
    placeholderData: (before: Schemas["MaintenancePreview"] | undefined) => before,
    queryFn: async () =>
      asked === null ? undefined : (await http.GET("/api/v1/maintenance/preview", { params: { query: asked } })).data,
  });
  const { error, isFetching } = query;
  const current = useRef(form);
  current.current = form;
  const placed = useRef<string | null>(null);
  useEffect(() => {
    if (isFetching) return;
    if (placed.current !== null) current.current.clearFieldError(placed.current);
    const problem = error ? problemOf(error) : null;
    placed.current = problem?.field ? fieldOf(problem.field, current.current.values) : null;
    if (placed.current !== null && problem) current.current.setFieldError(placed.current, problem.message);
  }, [error, isFetching]);
  if (d.repeat === "once") {
    const [start, end] = [d.start, d.end].map((text) => epoch(instantOfField(text, d.timezone)));
    const list = start != null && end != null && end > start ? [{ start, end }] : [];
    return { list, pending: false, refused: "The end must be after the start." };
  }
  const next = error ? [] : (query.data?.next ?? []);
  return {
    list: next.map((one) => ({ start: epoch(one.start) ?? 0, end: epoch(one.end) ?? 0 })),
    pending: query.isPending && asked !== null,
    refused: error ? said(error, d) : null,
  };
}

/** What is wrong, unless it stands at its field. */
function said(error: unknown, d: Draft): string {
  const problem = problemOf(error);
  const atField = problem.field !== null && fieldOf(problem.field, d) !== null;
  return atField ? "Nothing comes until the field is mended." : problem.message;
}

/** What is asked of the server; nothing before the form says enough. */
function question(d: Draft) {
  const cron = cronOfDraft(d);
  if (cron === "" || d.duration_min === "" || (d.repeat === "weekly" && d.weekdays.length === 0)) return null;
  const until = untilOf(d);
  const asked = { cron, timezone: d.timezone, duration_s: Math.round(d.duration_min * 60) };
  return until === null ? asked : { ...asked, until };
}
