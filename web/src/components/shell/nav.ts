import type { Role } from "../../api/session";

/** A place in the rail and in the palette. `least` hides it from roles below. */
export interface Place {
  to: string;
  word: string;
  least?: Role;
}

export const places: readonly Place[] = [
  { to: "/", word: "Overview" },
  { to: "/incidents", word: "Incidents" },
  { to: "/monitors", word: "Monitors" },
  { to: "/certificates", word: "Certificates" },
  { to: "/locations", word: "Locations" },
  { to: "/fleets", word: "Fleets" },
  { to: "/slos", word: "SLOs" },
  { to: "/reports", word: "Reports" },
  { to: "/maintenance", word: "Maintenance" },
  { to: "/status-pages", word: "Status pages" },
];

export const setUp: readonly Place[] = [
  { to: "/alerting", word: "Alerting" },
  // Beside who is told: it is set up once, and what it decides is told through channels.
  { to: "/failover-groups", word: "Failover" },
  { to: "/people", word: "People and tokens", least: "admin" },
  { to: "/settings", word: "Settings" },
];

export function isHere(to: string, path: string): boolean {
  return to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`);
}
