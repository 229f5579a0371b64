import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link } from "react-router";
import { api, http } from "../../api/client";
import { useRole } from "../../api/session";
import { Button, ButtonLink } from "../../components/Button";
import { Page } from "../../components/Page";
import { StateMark } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { count, plural } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { parseQuery, toggle } from "../../lib/query";
import { monitorStates, wordOf } from "../../lib/states";
import { useFrozen } from "../../lib/useFrozen";
import { useRows } from "../../lib/useRows";
import { useUrlState } from "../../lib/useUrlState";
import { toParams } from "./filter";
import { MonitorTable } from "./MonitorTable";

/** Monitors: the list with its filter, which lives in the address. */
export function MonitorsPage() {
  const role = useRole();
  const [text, setText] = useUrlState("q");
  const field = useRef<HTMLInputElement>(null);
  const [used, setUsed] = useState(false);
  const { params, unknown } = toParams(text);
  const overview = api.useQuery("get", "/api/v1/overview", { params: { query: { state: "down,partial" } } });
  const list = useInfiniteQuery({
    queryKey: ["get", "/api/v1/monitors", "pages", params],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) => {
      const answer = await http.GET("/api/v1/monitors", {
        params: { query: { ...params, limit: 100, cursor: pageParam } },
        signal,
      });
      return answer.data ?? { items: [], next: null };
    },
    getNextPageParam: (page) => page.next ?? undefined,
    placeholderData: (before) => before,
  });
  const items = list.data?.pages.flatMap((page) => page.items) ?? [];
  const frozen = useFrozen(items, (m) => m.id, used);
  const here = useRows(
    frozen.rows.map((m) => m.id),
    (id) => `/monitors/${id}`,
  );
  useKeys({ "/": () => field.current?.focus() });
  const total = overview.data?.counts.total;
  const states = parseQuery(text).terms.state ?? [];
  return (
    <Page crumbs={[{ word: "Monitors" }]}>
      <div className="headline">
        <div>
          <h1>
            {total === undefined
              ? "Monitors"
              : total === 0
                ? "Nothing is watched yet."
                : `${plural(total, "monitor")}, the worst first`}
          </h1>
        </div>
        {role("editor") && (
          <div className="actions">
            <ButtonLink primary to="/monitors/new">
              Add a monitor
            </ButtonLink>
          </div>
        )}
      </div>
      <section className="card" aria-label="Monitors">
        <header>
          <input
            ref={field}
            className="query"
            type="search"
            aria-label="Filter"
            placeholder="name, group:shop, state:down, sort:name"
            spellCheck={false}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <span className="row" role="group" aria-label="States">
            {monitorStates.map((state) => {
              const n = overview.data?.counts[state] ?? 0;
              const on = states.includes(state) || (state === "degraded" && states.includes("slow"));
              if (n === 0 && !on) return null;
              return (
                <button
                  key={state}
                  type="button"
                  className="chip"
                  aria-pressed={on}
                  onClick={() => setText(toggle(text.replace("state:slow", "state:degraded"), "state", state), true)}
                >
                  <StateMark state={state} />
                  <b>{count(n)}</b> {wordOf(state).toLowerCase()}
                </button>
              );
            })}
          </span>
          {frozen.changed > 0 && (
            <span className="push">
              <Button
                compact
                onClick={() => {
                  frozen.apply();
                  setUsed(false);
                }}
              >
                {count(frozen.changed)} changed
              </Button>
            </span>
          )}
        </header>
        {unknown.length > 0 && (
          <p className="empty" role="status">
            The filter does not know {unknown.join(", ")}. It knows words, state:, group:, label:, location: and
            sort:name or sort:state.
          </p>
        )}
        {list.isPending && <Loading rows={8} />}
        {list.isError && <Failed error={list.error} retry={() => void list.refetch()} />}
        {list.data && items.length === 0 && (
          <Empty>
            {text === "" ? (
              <>
                No monitor yet.{" "}
                {role("editor") ? (
                  <Link to="/monitors/new">Paste an address and see it probed from every location.</Link>
                ) : (
                  "An editor can add one."
                )}
              </>
            ) : (
              <>
                Nothing matches.{" "}
                <button type="button" className="link" onClick={() => setText("", true)}>
                  Show all
                </button>
              </>
            )}
          </Empty>
        )}
        {items.length > 0 && (
          <div
            onMouseEnter={() => setUsed(true)}
            onMouseLeave={() => setUsed(false)}
            onFocus={() => setUsed(true)}
            onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && setUsed(false)}
          >
            <MonitorTable rows={frozen.rows} here={here} />
          </div>
        )}
        {list.hasNextPage && (
          <More
            key={items.length}
            load={() => void list.fetchNextPage()}
            busy={list.isFetchingNextPage}
            shown={items.length}
          />
        )}
      </section>
    </Page>
  );
}

/** Loads the next page when it comes into view; a button for those who do not scroll. */
function More({ load, busy, shown }: { load: () => void; busy: boolean; shown: number }) {
  const ref = useRef<HTMLDivElement>(null);
  const act = useRef(load);
  act.current = load;
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const watch = new IntersectionObserver((seen) => seen.some((s) => s.isIntersecting) && act.current(), {
      rootMargin: "800px",
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return (
    <footer ref={ref}>
      {count(shown)} shown.{" "}
      <button type="button" className="link" onClick={load} aria-busy={busy}>
        Show more
      </button>
    </footer>
  );
}
