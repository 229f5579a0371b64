import type { ReactNode } from "react";
import { Link, useLocation } from "react-router";
import { useRole } from "../../api/session";
import { isHere, type Place, places, setUp } from "./nav";

/** What stands beside a place: a count, with a mark where attention is needed. */
export type Counts = Partial<Record<string, ReactNode>>;

export function Logo() {
  return (
    <svg width="26" height="12" viewBox="0 0 26 12" aria-hidden="true">
      <circle cx="5" cy="6" r="4.2" fill="var(--text)" />
      <circle cx="13" cy="6" r="4.2" fill="var(--text)" />
      <circle cx="21" cy="6" r="3.4" fill="none" stroke="var(--text)" strokeWidth="1.6" />
    </svg>
  );
}

export function Rail({ counts, self }: { counts: Counts; self: ReactNode }) {
  return (
    <nav className="rail" aria-label="Main">
      <Link className="logo" to="/">
        <Logo />
        Quorate
      </Link>
      <Places places={places} counts={counts} />
      <div className="caption">Set up</div>
      <Places places={setUp} counts={counts} />
      <div className="self">{self}</div>
    </nav>
  );
}

function Places({ places, counts }: { places: readonly Place[]; counts: Counts }) {
  const path = useLocation().pathname;
  const role = useRole();
  return places
    .filter((place) => !place.least || role(place.least))
    .map((place) => (
      <Link key={place.to} className="nav" to={place.to} aria-current={isHere(place.to, path) ? "page" : undefined}>
        {place.word}
        {counts[place.to] && <span className="count">{counts[place.to]}</span>}
      </Link>
    ));
}

/** Below 720 px: the four places of somebody who was woken up. */
export function BottomBar({ counts }: { counts: Counts }) {
  const path = useLocation().pathname;
  const tabs: readonly Place[] = [
    { to: "/", word: "Now" },
    { to: "/incidents", word: "Incidents" },
    { to: "/monitors", word: "Monitors" },
    { to: "/more", word: "More" },
  ];
  const known = tabs.slice(0, 3).some((tab) => isHere(tab.to, path));
  return (
    <nav className="bottombar" aria-label="Main, short">
      {tabs.map((tab) => (
        <Link
          key={tab.to}
          to={tab.to}
          aria-current={(tab.to === "/more" ? !known : isHere(tab.to, path)) ? "page" : undefined}
        >
          <span className="count">
            {tab.to === "/more" ? (counts["/more"] ?? counts["/locations"]) : counts[tab.to]}
          </span>
          {tab.word}
        </Link>
      ))}
    </nav>
  );
}
