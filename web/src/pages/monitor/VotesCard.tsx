import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { Seats } from "../../components/Seats";
import { VotesTable } from "../../components/VotesTable";
import { when } from "../../lib/time";
import { scopeWords, seatsOf, tally, voteRows } from "./votes";

export function VotesCard({
  report,
  now,
  revision,
}: {
  report: Schemas["StateReport"];
  now: number;
  revision: number;
}) {
  const rows = voteRows(report, now);
  const scope = report.d > 0 ? scopeWords(report.scope) : null;
  const words = tally(report);
  return (
    <Card
      title="Votes"
      beside={`at ${when(report.now)}, settings revision ${revision}`}
      actions={
        <>
          <Seats seats={seatsOf(rows)} needed={report.q} />
          <span className="soft">{words.join(" · ")}</span>
        </>
      }
      footer={scope}
    >
      <VotesTable rows={rows} />
    </Card>
  );
}
