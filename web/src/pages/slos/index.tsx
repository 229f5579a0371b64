import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { http, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button, ButtonLink } from "../../components/Button";
import { Card } from "../../components/Card";
import { Page } from "../../components/Page";
import { StateMark } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { useKeys } from "../../lib/keys";
import { sloMark, sloStates, slosSentence, sloWord } from "../../lib/slos";
import { useRows } from "../../lib/useRows";
import { useSettled } from "../../lib/useSettled";
import { useUrlClear, useUrlState } from "../../lib/useUrlState";
import { Import } from "./Import";
import { SloTable } from "./SloTable";

/** SLOs: will we make it? The least budget left first. Which ones are shown lives in the address. */
export function SlosPage() {
  const role = useRole();
  const field = useRef<HTMLInputElement>(null);
  const [search, setSearch] = useUrlState("q");
  const [state, setState] = useUrlState("state");
  const [service, setService] = useUrlState("service");
  const [monitor, setMonitor] = useUrlState("monitor");
  const settled = useSettled(search, 250);
  const about = {
    ...(settled ? { search: settled } : {}),
    ...(state ? { state } : {}),
    ...(service ? { service } : {}),
    ...(monitor ? { monitor } : {}),
  };
  const filtered = Object.keys(about).length > 0;
  const slos = useInfiniteQuery({
    queryKey: ["get", "/api/v1/slos", about],
    initialPageParam: undefined as string | undefined,
    placeholderData: keepPreviousData,
    queryFn: async ({ pageParam }): Promise<Schemas["List_Slo"]> => {
      const query = { limit: 100, cursor: pageParam, ...about };
      return (await http.GET("/api/v1/slos", { params: { query } })).data ?? { items: [], next: null };
    },
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const items = slos.data?.pages.flatMap((page) => page.items) ?? [];
  const here = useRows(
    items.map((slo) => slo.id),
    (id) => `/slos/${id}`,
  );
  useKeys({ "/": () => field.current?.focus() });
  const clear = useUrlClear();
  const showAll = () => clear(["q", "state", "service", "monitor"], true);
  return (
    <Page crumbs={[{ word: "SLOs" }]}>
      <div className="headline">
        <div>
          <h1>{slos.data && !filtered ? slosSentence(items, !slos.hasNextPage) : "SLOs"}</h1>
          {items.length > 0 && (
            <p className="lead">
              Percentages are cut off, never rounded up. Time of which nothing is known is neither up nor down.
            </p>
          )}
        </div>
        {(role("editor") || items.length > 0) && (
          <div className="actions">
            {items.length > 0 && (
              <a className="button" href="/api/v1/slos.openslo.yaml" download>
                Export
              </a>
            )}
            {role("editor") && <Import />}
            {role("editor") && (
              <ButtonLink primary to="/slos/new">
                Add an SLO
              </ButtonLink>
            )}
          </div>
        )}
      </div>
      <Card
        title="SLOs"
        // Of nothing nothing can be filtered.
        beside={
          (filtered || items.length > 0 || slos.isPending) && (
            <span className="row slo-filter">
              <input
                ref={field}
                className="query"
                type="search"
                aria-label="Name or service"
                placeholder="name or service"
                value={search}
                onChange={(event) => setSearch(event.currentTarget.value)}
              />
              <Chip pressed={state === ""} act={() => setState("", true)}>
                All
              </Chip>
              {sloStates.map((one) => (
                <Chip key={one} pressed={state === one} act={() => setState(state === one ? "" : one, true)}>
                  <StateMark state={sloMark(one)} /> {sloWord(one)}
                </Chip>
              ))}
              {service && <Narrowed word={`service ${service}`} off={() => setService("", true)} />}
              {monitor && <Narrowed word="one monitor" off={() => setMonitor("", true)} />}
            </span>
          )
        }
        footer={
          slos.hasNextPage ? (
            <Button compact busy={slos.isFetchingNextPage} onClick={() => void slos.fetchNextPage()}>
              Show more
            </Button>
          ) : (
            items.length > 0 && "The least budget left first; those of which nothing can be said come last."
          )
        }
      >
        {slos.isPending && <Loading rows={5} />}
        {slos.isError && <Failed error={slos.error} retry={() => void slos.refetch()} />}
        {slos.data && items.length === 0 && (
          <Empty>{filtered ? <NothingMatches showAll={showAll} /> : <NoneYet editor={role("editor")} />}</Empty>
        )}
        {items.length > 0 && <SloTable items={items} here={here} narrow={(word) => setService(word, true)} />}
      </Card>
    </Page>
  );
}

function NothingMatches({ showAll }: { showAll: () => void }) {
  return (
    <>
      Nothing matches.{" "}
      <Button compact onClick={showAll}>
        Show all
      </Button>
    </>
  );
}

function NoneYet({ editor }: { editor: boolean }) {
  return (
    <>
      No SLO yet. An SLO says how much of the time something must work, and what may fail: 99.9 % of a month leaves 43
      min.{" "}
      {editor
        ? "Add one for a monitor; what was watched so far counts at once."
        : "An editor can add one for a monitor; what was watched so far counts at once."}
    </>
  );
}

function Chip({ pressed, act, children }: { pressed: boolean; act: () => void; children: React.ReactNode }) {
  return (
    <button type="button" className="chip" aria-pressed={pressed} onClick={act}>
      {children}
    </button>
  );
}

/** What the list is narrowed to from elsewhere, and the way back. */
function Narrowed({ word, off }: { word: string; off: () => void }) {
  return (
    <button type="button" className="chip" aria-pressed="true" onClick={off}>
      {word}
      <span className="hidden-visually">: show all again</span> <span aria-hidden="true">×</span>
    </button>
  );
}
