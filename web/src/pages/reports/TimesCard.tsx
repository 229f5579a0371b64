import { Card } from "../../components/Card";
import { cronWords } from "../../lib/cron";
import { useNow } from "../../lib/ticker";
import { dayMinute, utc, zoneLabel } from "../../lib/time";
import type { Draft } from "./draft";
import type { useTimes } from "./useTimes";

/** When the reports come, in words and as the next three times. */
export function TimesCard({ draft, times }: { draft: Draft; times: ReturnType<typeof useTimes> }) {
  const now = useNow();
  const words = cronWords(draft.cron);
  const zone = draft.timezone;
  const atField = times.cronRefused ?? times.zoneRefused;
  const early = times.upcoming?.some((at) => Number(dateIn(at, zone)) < 4);
  return (
    <Card title="When they come">
      <div className="body stack" role="status">
        {times.refused && (
          <p className="soft">{atField ? "Nothing comes until the field is mended." : times.refused.message}</p>
        )}
        {!times.refused && words && <p className="strong">{words.charAt(0).toUpperCase() + words.slice(1)}.</p>}
        {times.upcoming && !times.refused && (
          <ol className="stack tight">
            {times.upcoming.map((at, i) => (
              <li key={at} title={utc(at)}>
                <span className="muted">{i === 0 ? "Next" : "Then"}</span> {dayMinute(at, now, zone)}{" "}
                <span className="muted">{zoneLabel(at, zone)}</span>
              </li>
            ))}
          </ol>
        )}
        {draft.cron.trim() === "" && <p className="soft">Choose a time, or write an expression.</p>}
        <p className="small soft">
          {early
            ? "A period is frozen 72 h after its end. Reports of a month that come before the 4th hold figures that late data can still change; they say so."
            : "A period is frozen 72 h after its end; from the 4th of a month on the report is the frozen revision."}
        </p>
        <p className="small soft">
          A time that a change of clocks leaves out comes right after the gap; one that it repeats comes once.
        </p>
      </div>
    </Card>
  );
}

/** The day of the month in a zone. */
function dateIn(at: string, zone: string): string {
  try {
    return new Intl.DateTimeFormat("en-GB", { day: "numeric", timeZone: zone }).format(new Date(at));
  } catch {
    return "31";
  }
}
