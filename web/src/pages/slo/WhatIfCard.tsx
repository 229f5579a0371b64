import { NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { http, type Schemas } from "../../api/client";
import { BudgetBar } from "../../components/BudgetBar";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { StateWord } from "../../components/StateMark";
import { Failed } from "../../components/Status";
import { amount, pct, sloMark, sloWord } from "../../lib/slos";
import { percentOf, ppbOf } from "../../lib/target";
import { useSettled } from "../../lib/useSettled";
import { leftOf, totalOf, unitOf } from "./words";

type Report = Schemas["SloReport"];

const usual = ["99", "99.5", "99.9", "99.95", "99.99"];

/** What would stand here with another objective: the same engine over the same stored time. Nothing is saved. */
export function WhatIfCard({ slo, report }: { slo: Schemas["Slo"]; report: Report }) {
  const [text, setText] = useState(slo.target_pct);
  const [unknown, setUnknown] = useState<string>(slo.unknown_policy);
  const ppb = ppbOf(text);
  const change = useSettled({ target_ppb: ppb, unknown_policy: unknown }, 300);
  const differs = change.target_ppb !== slo.target_ppb || change.unknown_policy !== slo.unknown_policy;
  const answer = useQuery({
    queryKey: ["simulate", slo.id, slo.revision, change],
    enabled: change.target_ppb !== null && differs,
    retry: false,
    placeholderData: (before: Report | undefined) => before,
    queryFn: async () =>
      (
        await http.POST("/api/v1/slos/{id}/simulate", {
          params: { path: { id: slo.id } },
          body: { slo: change },
        })
      ).data,
  });
  const other = differs && change.target_ppb !== null ? answer.data : undefined;
  return (
    <Card title="What if the objective were…" beside="worked out from what is stored; nothing is saved">
      <div className="body stack">
        <div className="row wide what-if">
          <TextInput
            label="Objective"
            rightSection="%"
            value={text}
            error={ppb === null ? "Between 0 and 100, both left out." : undefined}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <NativeSelect
            label="Unknown time"
            data={[
              { value: "exclude", label: "is left out" },
              { value: "down", label: "counts as down" },
              { value: "up", label: "counts as up" },
            ]}
            value={unknown}
            onChange={(event) => setUnknown(event.currentTarget.value)}
          />
          <span className="row usual" role="group" aria-label="Usual objectives">
            {usual.map((one) => (
              <button
                key={one}
                type="button"
                className="button compact"
                aria-pressed={text === one}
                onClick={() => setText(one)}
              >
                {one}&nbsp;%
              </button>
            ))}
          </span>
        </div>
      </div>
      {answer.isError && <Failed error={answer.error} retry={() => void answer.refetch()} />}
      <ScrollX label="What if">
        <table className="grid dense">
          <caption className="hidden-visually">As it is, and as it would be</caption>
          <thead>
            <tr>
              <th scope="col">Objective</th>
              <th scope="col" className="num">
                Achieved
              </th>
              <th scope="col" className="num">
                Budget
              </th>
              <th scope="col">Left</th>
              <th scope="col">State</th>
              <th scope="col">Rules firing</th>
            </tr>
          </thead>
          <tbody>
            <Row word="as it is" report={report} />
            {other && <Row word={`if ${percentOf(change.target_ppb ?? 0)}\u00a0%`} report={other} />}
          </tbody>
        </table>
      </ScrollX>
    </Card>
  );
}

function Row({ word, report }: { word: string; report: Report }) {
  const unit = unitOf(report);
  const firing = report.alerts.filter((alert) => alert.firing).map((alert) => alert.rule);
  return (
    <tr>
      <th scope="row">
        {pct(report.slo.target_pct)} <span className="muted small-weight">{word}</span>
      </th>
      <td className="num">{pct(report.availability.pct)}</td>
      <td className="num">{amount(totalOf(report), unit)}</td>
      <td>
        <BudgetBar state={report.state} ratio={report.budget.remaining_ratio} left={leftOf(report)} unit={unit} />
      </td>
      <td>
        <StateWord state={sloMark(report.state)} word={sloWord(report.state)} />
      </td>
      <td className="soft">{firing.length > 0 ? firing.join(", ") : "none"}</td>
    </tr>
  );
}
