/** What an incident is about, in words. */

import type { Schemas } from "../api/client";

type About = Pick<Schemas["IncidentRow"], "monitor" | "fleet" | "subject">;

/** Whom a fleet's incident names; empty when nobody is. Its subject is `fleet:ID:KIND:WHO`, and WHO may hold colons. */
export function whoOf(subject: string): string {
  return subject.startsWith("fleet:") ? subject.split(":").slice(3).join(":").replaceAll(",", ", ") : "";
}

/** The monitor's name, or the fleet's with whom it is about: `shop-web: web-3`. */
export function nameOf(incident: About): string {
  if (incident.monitor) return incident.monitor.name;
  const who = whoOf(incident.subject);
  if (incident.fleet) return who === "" ? incident.fleet.name : `${incident.fleet.name}: ${who}`;
  if (incident.subject.startsWith("monitor:")) return "a deleted monitor";
  if (incident.subject.startsWith("fleet:")) return who === "" ? "a deleted fleet" : `a deleted fleet: ${who}`;
  return incident.subject;
}
