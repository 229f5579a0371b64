import { NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Card } from "../../components/Card";
import { PickSlo } from "../../components/Pick";
import { StateWord } from "../../components/StateMark";
import { Refusal } from "../../components/Status";
import { pct } from "../../lib/slos";
import { useNow } from "../../lib/ticker";
import { useSettled } from "../../lib/useSettled";
import { periodWord } from "../slo/words";
import { Files } from "./MadeCard";
import { verdictSaid } from "./words";

/** Any report, at once: what was measured is there, whether or not a schedule asked for it. */
export function NowCard() {
  const [slo, setSlo] = useState("");
  const [period, setPeriod] = useState("previous");
  const [span, setSpan] = useState({ from: "", to: "" });
  const [customer, setCustomer] = useState("");
  const dates = useSettled(span, 400);
  const window = period === "dates" ? (dates.from && dates.to ? `${dates.from}..${dates.to}` : null) : period;
  return (
    <Card title="Any SLO, any period" beside="opened at once, and not kept">
      <div className="body form">
        <div className="fields">
          <PickSlo label="SLO" description="Its zone is the report's." chosen={[]} value={slo} onChange={setSlo} />
          <NativeSelect
            label="Period"
            description="Of a rolling window: up to now."
            data={[
              { value: "previous", label: "The last one that is over" },
              { value: "current", label: "The present one, to date" },
              { value: "dates", label: "From one date to another" },
            ]}
            value={period}
            onChange={(event) => setPeriod(event.currentTarget.value)}
          />
          {period === "dates" && (
            <>
              <TextInput
                label="From"
                description="A date of the SLO's zone, or an instant."
                placeholder="2026-11-01"
                value={span.from}
                onChange={(event) => setSpan({ ...span, from: event.currentTarget.value.trim() })}
              />
              <TextInput
                label="To"
                description="That day is not part of it any more."
                placeholder="2026-12-01"
                value={span.to}
                onChange={(event) => setSpan({ ...span, to: event.currentTarget.value.trim() })}
              />
            </>
          )}
          <TextInput
            label="For whom"
            description="Stands at the top of the page."
            placeholder="Shop Example GmbH"
            maxLength={200}
            value={customer}
            onChange={(event) => setCustomer(event.currentTarget.value)}
          />
        </div>
        {slo !== "" && window !== null ? (
          <Found key={slo} slo={slo} window={window} customer={customer.trim()} />
        ) : (
          <p className="muted">{slo === "" ? "Choose an SLO; its figures stand here at once." : "Write both dates."}</p>
        )}
      </div>
    </Card>
  );
}

function Found({ slo, window, customer }: { slo: string; window: string; customer: string }) {
  const now = useNow();
  const report = api.useQuery(
    "get",
    "/api/v1/slos/{id}/report",
    { params: { path: { id: slo }, query: { window } } },
    { retry: false, refetchInterval: false },
  );
  if (report.isError) return <Refusal>{problemOf(report.error).message}</Refusal>;
  if (!report.data) return <p className="muted">Working it out…</p>;
  const { availability, state } = report.data;
  const verdict = verdictSaid({ met: report.data.window.complete ? availability.met : null, state });
  const period = periodWord(report.data, now);
  const more = customer === "" ? "" : `&customer=${encodeURIComponent(customer)}`;
  return (
    <div className="row wide" role="status">
      <span>
        <b>{report.data.slo.name}</b>, {spanWords(report.data, period)}:
      </span>
      <StateWord state={verdict.mark} word={verdict.word} />
      <span>
        {pct(availability.pct)} <span className="muted">of {pct(report.data.slo.target_pct)}</span>
      </span>
      <FilesNow slo={slo} window={window} more={more} of={period} />
    </div>
  );
}

/** `October`, or `October to date`. */
function spanWords(report: Schemas["SloReport"], period: string): string {
  return report.window.complete || report.slo.window.kind === "rolling" ? period : `${period} to date`;
}

/** Only the page names whom it is for. */
function FilesNow({ slo, window, more, of }: { slo: string; window: string; more: string; of: string }) {
  const base = `/api/v1/slos/${slo}/report`;
  const query = `window=${encodeURIComponent(window)}`;
  return (
    <span className="row">
      <a className="button primary" href={`${base}.html?${query}${more}`} target="_blank" rel="noreferrer">
        Open the page
      </a>
      <span className="muted small">Printed, it is a PDF.</span>
      <Files base={base} query={query} of={of} json="" page={false} />
    </span>
  );
}
