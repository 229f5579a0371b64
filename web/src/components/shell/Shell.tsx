import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { type Location, Navigate, Outlet, ScrollRestoration, useLocation } from "react-router";
import { api, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { useKeys } from "../../lib/keys";
import { follow, SLOWLY } from "../../lib/live";
import { count } from "../../lib/format";
import { fleetMark, fleetWord, worstFirst } from "../../lib/fleets";
import { rank, worst } from "../../lib/states";
import { Failed } from "../Status";
import { StateMark } from "../StateMark";
import { Announcer } from "./Announcer";
import { openKeys, Palette } from "./Palette";
import { BottomBar, type Counts, Rail } from "./Rail";
import { Renew } from "./Renew";
import { Self } from "./Self";

/** Everything around a page, for somebody who is signed in. */
export function Shell() {
  const session = api.useQuery("get", "/api/v1/session", undefined, { staleTime: 60_000, retry: false });
  const here = useLocation();
  if (session.isPending) return null;
  if (!session.data) {
    if (problemOf(session.error).status === 401)
      return <Navigate to="/sign-in" replace state={{ from: here.pathname + here.search }} />;
    return (
      <main className="plain-page">
        <div>
          <h1>Quorate does not answer</h1>
          <Failed error={session.error} retry={() => void session.refetch()} />
        </div>
      </main>
    );
  }
  return <SignedIn />;
}

function SignedIn() {
  const client = useQueryClient();
  useEffect(() => follow("/api/v1/events", client), [client]);
  useKeys({ "?": openKeys });
  useFocusOnArrival();
  const overview = api.useQuery("get", "/api/v1/overview", { params: { query: { state: "down,partial" } } });
  const fleets = api.useQuery("get", "/api/v1/fleets", undefined, { refetchInterval: SLOWLY });
  const burning = useSloCount("burning");
  const missed = useSloCount("breached");
  const counts = {
    ...slosCount(burning, missed),
    ...(overview.data ? countsOf(overview.data) : {}),
    ...(fleets.data ? fleetsCount(fleets.data.items) : {}),
  };
  return (
    <>
      <a className="button skip" href="#main">
        To the content
      </a>
      <div className="app">
        <Rail counts={counts} self={<Self />} />
        <div>
          <Outlet />
        </div>
      </div>
      <ScrollRestoration getKey={placeOf} />
      <BottomBar counts={counts} />
      <Palette />
      <Renew />
      {overview.data && <Announcer incidents={overview.data.incidents} />}
    </>
  );
}

/** A new page begins at its content, for the keyboard and for screen readers, unless a field has taken the focus. */
function useFocusOnArrival() {
  const { pathname } = useLocation();
  const before = useRef(pathname);
  useEffect(() => {
    if (before.current === pathname) return;
    before.current = pathname;
    const main = document.getElementById("main");
    if (main && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  }, [pathname]);
}

const MOST = 100;

/** How many SLOs are in a state, as far as one page of them tells. */
function useSloCount(state: string): number {
  const found = api.useQuery(
    "get",
    "/api/v1/slos",
    { params: { query: { state, limit: MOST } } },
    { refetchInterval: SLOWLY, staleTime: 30_000 },
  );
  return found.data?.items.length ?? 0;
}

/** SLOs that burn or are missed; nothing beside the word when none is. */
function slosCount(burning: number, missed: number): Counts {
  const bad = burning + missed;
  if (bad === 0) return {};
  const label = [burning > 0 && `${burning} burning`, missed > 0 && `${missed} missed`].filter(Boolean).join(", ");
  return {
    "/slos": (
      <>
        <StateMark state="down" label={label} />
        {bad >= MOST ? `${MOST}+` : count(bad)}
      </>
    ),
  };
}

/** How many fleets are in trouble, with the mark of the worst of them; silence when nothing else is. */
function fleetsCount(fleets: readonly Schemas["Fleet"][]): Counts {
  const bad = worstFirst(fleets).filter((f) => f.now.state === "critical" || f.now.state === "warning");
  const silent = fleets.filter((f) => f.now.state === "no_data" || f.now.state === "no_source");
  const [first] = bad.length > 0 ? bad : silent;
  if (!first) return { "/fleets": fleets.length > 0 && count(fleets.length) };
  const told = (
    <>
      <StateMark state={fleetMark(first)} label={`fleets, the worst: ${fleetWord(first)}`} />
      {count(bad.length > 0 ? bad.length : silent.length)}
    </>
  );
  // On a phone they are behind "More".
  return { "/fleets": told, "/more": told };
}

function countsOf(overview: Schemas["Overview"]): Counts {
  const open = overview.incidents.filter((i) => !i.suppressed);
  const state = worst(open.map((i) => i.severity));
  const silent = overview.locations.filter((l) => l.health === "offline").length;
  const aside = overview.locations.filter((l) => ["quarantined", "distrusted", "impaired"].includes(l.health)).length;
  const bad = (["down", "partial", "degraded"] as const).filter((s) => overview.counts[s] > 0);
  const worstNow = [...bad].sort((a, b) => rank(a) - rank(b))[0];
  return {
    "/": worstNow && (
      <>
        <StateMark state={worstNow} label={worstNow} />
        {count(overview.counts[worstNow])}
      </>
    ),
    "/incidents": state && (
      <>
        <StateMark state={state} label={`worst: ${state}`} />
        {count(open.length)}
      </>
    ),
    "/monitors": overview.counts.total > 0 && count(overview.counts.total),
    "/locations":
      aside > 0 ? (
        <>
          <StateMark state="quarantined" label="not believed" />
          {count(aside)}
        </>
      ) : silent > 0 ? (
        <>
          <StateMark state="unknown" label="silent" />
          {count(silent)}
        </>
      ) : (
        overview.locations.length > 0 && count(overview.locations.length)
      ),
  };
}

/**
 * How far a page was scrolled is remembered by the visit. The first page after a load has no visit of its own; by
 * its address it is not scrolled as another one was.
 */
const placeOf = (location: Location) => (location.key === "default" ? location.pathname : location.key);
