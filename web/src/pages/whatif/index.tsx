import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useParams } from "react-router";
import { api, http, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { ButtonLink } from "../../components/Button";
import { Page } from "../../components/Page";
import { Empty, Failed, Loading } from "../../components/Status";
import { readRange } from "../../lib/range";
import { useNow } from "../../lib/ticker";
import { useUrlState } from "../../lib/useUrlState";
import { WhatIfForm } from "./Form";
import { Result } from "./Result";
import { bodyOf, readAsked, verdict, writeAsked } from "./words";

/** What if: another policy over a monitor's stored results, beside what really happened. */
export function WhatIfPage() {
  const id = useParams().id ?? "";
  const role = useRole();
  const monitor = api.useQuery(
    "get",
    "/api/v1/monitors/{id}",
    { params: { path: { id } } },
    { refetchInterval: false },
  );
  const name = monitor.data?.name ?? "…";
  return (
    <Page crumbs={[{ word: "Monitors", to: "/monitors" }, { word: name, to: `/monitors/${id}` }, { word: "What if" }]}>
      {monitor.isPending && <Loading rows={8} />}
      {monitor.isError && !monitor.data && <Failed error={monitor.error} retry={() => void monitor.refetch()} />}
      {monitor.data && role("editor") && <WhatIf key={id} monitor={monitor.data} />}
      {monitor.data && !role("editor") && <Empty>Trying a policy needs the role editor.</Empty>}
    </Page>
  );
}

function WhatIf({ monitor }: { monitor: Schemas["Monitor"] }) {
  const now = useNow();
  const [range, setRange] = useUrlState("range", "7d");
  const [tried, setTried] = useUrlState("try");
  const [span, setSpan] = useState(() => readRange(range, now));
  const asked = readAsked(tried);
  const body = asked && bodyOf(asked, span.from, span.to);
  const replay = useQuery({
    queryKey: ["replay", monitor.id, body],
    enabled: body !== null,
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
    refetchOnWindowFocus: false,
    retry: false,
    queryFn: async () => {
      const params = { path: { id: monitor.id } };
      return (await http.POST("/api/v1/monitors/{id}/replay", { params, body: body ?? {} })).data;
    },
  });
  return (
    <>
      <div className="headline">
        <div>
          <h1 aria-live="polite">
            {asked && replay.data ? verdict(replay.data) : `What if ${monitor.name} were judged by another policy?`}
          </h1>
          <p className="lead">Its stored results are decided once more. Nothing is saved until you say so.</p>
        </div>
        {asked && replay.data && (
          <div className="actions">
            <ButtonLink primary to={`/monitors/${monitor.id}/edit`} state={{ policy: asked.policy }}>
              Use this policy
            </ButtonLink>
          </div>
        )}
      </div>
      <WhatIfForm
        monitor={monitor}
        asked={asked}
        range={range}
        setRange={(next) => setRange(next, true)}
        busy={replay.isFetching}
        error={replay.error}
        run={(next) => {
          setSpan(readRange(range, now));
          setTried(writeAsked(next), true);
          if (writeAsked(next) === tried) void replay.refetch();
        }}
      />
      {asked === null && <Empty>Choose a span and a policy above; what it would have told appears here.</Empty>}
      {asked !== null && replay.isPending && <Loading rows={6} />}
      {asked !== null && replay.isError && !replay.data && (
        <Failed error={replay.error} retry={() => void replay.refetch()} />
      )}
      {asked !== null && replay.data && <Result monitor={monitor} replay={replay.data} />}
    </>
  );
}
