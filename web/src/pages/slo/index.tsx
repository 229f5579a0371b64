import { Link, useParams } from "react-router";
import { api, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Page } from "../../components/Page";
import { Failed, Loading } from "../../components/Status";
import { useNow } from "../../lib/ticker";
import { BudgetCard } from "./BudgetCard";
import { BurnCard } from "./BurnCard";
import { DaysCard } from "./DaysCard";
import { FactsCard } from "./FactsCard";
import { Headline } from "./Headline";
import { MaintenanceCard } from "./MaintenanceCard";
import { OutagesCard } from "./OutagesCard";
import { ReportsCard } from "./ReportsCard";
import { TimeCard } from "./TimeCard";
import { WhatIfCard } from "./WhatIfCard";

/** One SLO: will we make it? */
export function SloPage() {
  const { id = "" } = useParams();
  const slo = api.useQuery("get", "/api/v1/slos/{id}", { params: { path: { id } } });
  if (slo.data) return <Known key={slo.data.id} slo={slo.data} />;
  const gone = slo.isError && problemOf(slo.error).status === 404;
  return (
    <Page crumbs={[{ word: "SLOs", to: "/slos" }, { word: "SLO" }]}>
      <h1>{gone ? "There is no such SLO." : "SLO"}</h1>
      {slo.isPending && <Loading rows={6} />}
      {slo.isError && !gone && <Failed error={slo.error} retry={() => void slo.refetch()} />}
      {gone && (
        <p className="pad-phone">
          It may have been deleted. <Link to="/slos">All SLOs</Link>
        </p>
      )}
    </Page>
  );
}

function Known({ slo }: { slo: Schemas["Slo"] }) {
  const now = useNow();
  const answer = api.useQuery(
    "get",
    "/api/v1/slos/{id}/report",
    { params: { path: { id: slo.id } } },
    { refetchInterval: 30_000 },
  );
  const report = answer.data;
  return (
    <Page crumbs={[{ word: "SLOs", to: "/slos" }, { word: slo.name }]}>
      <Headline slo={slo} report={report} now={now} />
      {!report && answer.isPending && <Loading rows={8} />}
      {!report && answer.isError && <Failed error={answer.error} retry={() => void answer.refetch()} />}
      {report && (
        <>
          <BudgetCard slo={slo} report={report} now={now} />
          <DaysCard days={report.days} zone={report.slo.window.timezone} />
          <div className="two lean-left">
            <div className="stack side">
              <OutagesCard report={report} now={now} />
              <BurnCard report={report} now={now} />
            </div>
            <div className="stack side">
              <TimeCard report={report} now={now} />
              <FactsCard slo={slo} report={report} now={now} />
            </div>
          </div>
          <WhatIfCard slo={slo} report={report} />
          <MaintenanceCard report={report} now={now} />
          <ReportsCard slo={slo} report={report} now={now} />
        </>
      )}
    </Page>
  );
}
