import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useRef } from "react";
import { Link } from "react-router";
import { api, http, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { Page } from "../../components/Page";
import { StateMark } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { certificatesSentence, type View, viewOf, viewQuery, views } from "../../lib/certificates";
import { count, list, plural } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useNow } from "../../lib/ticker";
import { useRows } from "../../lib/useRows";
import { useSettled } from "../../lib/useSettled";
import { useUrlClear, useUrlState } from "../../lib/useUrlState";
import { CertificateTable } from "./CertificateTable";

type Counts = Schemas["CertificateCounts"];

/** Certificates: which end soon, which differ? Those that end first come first; the filter lives in the address. */
export function CertificatesPage() {
  const now = useNow();
  const field = useRef<HTMLInputElement>(null);
  const [search, setSearch] = useUrlState("q");
  const [word, setView] = useUrlState("show");
  const [monitor, setMonitor] = useUrlState("monitor");
  const view = viewOf(word);
  const q = useSettled(search, 250).trim();
  const about = { ...viewQuery(view), ...(q ? { q } : {}), ...(monitor ? { monitor } : {}) };
  const filtered = Object.keys(about).length > 0;
  const counts = api.useQuery("get", "/api/v1/certificates/counts");
  const shown = useInfiniteQuery({
    queryKey: ["get", "/api/v1/certificates", "pages", about],
    initialPageParam: undefined as string | undefined,
    placeholderData: keepPreviousData,
    queryFn: async ({ pageParam, signal }): Promise<Schemas["List_ShownCertificate"]> => {
      const query = { limit: 100, cursor: pageParam, ...about };
      const answer = await http.GET("/api/v1/certificates", { params: { query }, signal });
      return answer.data ?? { items: [], next: null };
    },
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const items = shown.data?.pages.flatMap((page) => page.items) ?? [];
  const key = (one: Schemas["ShownCertificate"]) => `${one.monitor.id} ${one.fingerprint}`;
  const here = useRows(items.map(key), (id) => `/monitors/${id.split(" ")[0]}`);
  useKeys({ "/": () => field.current?.focus() });
  const clear = useUrlClear();
  return (
    <Page crumbs={[{ word: "Certificates" }]}>
      <div className="headline">
        <div>
          <h1>{counts.data ? certificatesSentence(counts.data) : "Certificates"}</h1>
          {counts.data && counts.data.certificates > 0 && <Lead counts={counts.data} />}
        </div>
      </div>
      <Card
        title="By days left"
        beside={
          (filtered || items.length > 0 || shown.isPending) && (
            <span className="row">
              <input
                ref={field}
                className="query"
                type="search"
                aria-label="Monitor, name or issuer"
                placeholder="monitor, name or issuer"
                value={search}
                onChange={(event) => setSearch(event.currentTarget.value)}
              />
              <Chip pressed={view === null} act={() => setView("", true)}>
                All
              </Chip>
              {views.map(([one, words]) => (
                <ViewChip
                  key={one}
                  view={one}
                  words={words}
                  counts={counts.data}
                  pressed={view === one}
                  act={() => setView(view === one ? "" : one, true)}
                />
              ))}
              {monitor && (
                <Chip pressed act={() => setMonitor("", true)}>
                  one monitor
                  <span className="hidden-visually">: show all again</span> <span aria-hidden="true">×</span>
                </Chip>
              )}
            </span>
          )
        }
        footer={
          shown.hasNextPage ? (
            <Button compact busy={shown.isFetchingNextPage} onClick={() => void shown.fetchNextPage()}>
              Show more
            </Button>
          ) : (
            items.length > 0 &&
            "Days are cut off toward sooner; the tick on a bar is where the certificate was renewed last time. The end is that of the path that the agents used, intermediate certificates included. The axis is not even: the last days are wider."
          )
        }
      >
        {shown.isPending && <Loading rows={6} />}
        {shown.isError && <Failed error={shown.error} retry={() => void shown.refetch()} />}
        {shown.data && items.length === 0 && (
          <Empty>{filtered ? <Nothing showAll={() => clear(["q", "show", "monitor"], true)} /> : <NoneYet />}</Empty>
        )}
        {items.length > 0 && <CertificateTable items={items} now={now} here={here} keyOf={key} />}
      </Card>
    </Page>
  );
}

/** How many there are, and when they are told. */
function Lead({ counts }: { counts: Counts }) {
  const settings = api.useQuery("get", "/api/v1/settings/alerts", undefined, { staleTime: 60_000 });
  const days = settings.data?.certificate_days.map(count);
  return (
    <p className="lead">
      {plural(counts.certificates, "certificate")} at {plural(counts.monitors, "monitor")}.{" "}
      {days && (
        <>
          Told once at {list(days)} days left, unless a monitor has its own: <Link to="/settings">Settings</Link>
        </>
      )}
    </p>
  );
}

function ViewChip(props: { view: View; words: string; counts: Counts | undefined; pressed: boolean; act: () => void }) {
  const { counts } = props;
  const n = counts && { "7": counts.expired + counts.within_7, "30": counts.expired + counts.within_30, ...counts };
  const many = n?.[props.view];
  if (!many && !props.pressed) return null;
  const mark = { "7": "down", "30": "degraded", invalid: "down", differing: "partial" }[props.view];
  return (
    <Chip pressed={props.pressed} act={props.act}>
      <StateMark state={mark} /> {many !== undefined && <b>{count(many)}</b>} {props.words}
    </Chip>
  );
}

function Chip({ pressed, act, children }: { pressed: boolean; act: () => void; children: ReactNode }) {
  return (
    <button type="button" className="chip" aria-pressed={pressed} onClick={act}>
      {children}
    </button>
  );
}

function Nothing({ showAll }: { showAll: () => void }) {
  return (
    <>
      Nothing matches.{" "}
      <Button compact onClick={showAll}>
        Show all
      </Button>
    </>
  );
}

function NoneYet() {
  const editor = useRole()("editor");
  return (
    <>
      No monitor is shown a certificate yet. Whatever is watched over https appears here with its first result.{" "}
      {editor && <Link to="/monitors/new">Add a monitor</Link>}
    </>
  );
}
