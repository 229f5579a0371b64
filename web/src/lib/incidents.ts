/** What an incident is about, in words. */

import type { Schemas } from "../api/client";
import { count } from "./format";

type About = Pick<Schemas["IncidentRow"], "monitor" | "fleet" | "subject" | "title" | "slo" | "kind">;

/** Whom a fleet's incident names; empty when nobody is. Its subject is `fleet:ID:KIND:WHO`, and WHO may hold colons. */
export function whoOf(subject: string): string {
  return subject.startsWith("fleet:") ? subject.split(":").slice(3).join(":").replaceAll(",", ", ") : "";
}

/** What it is about, in a word: the monitor's name, or the fleet's. */
export function subjectOf(incident: About): string {
  if (incident.monitor) return incident.monitor.name;
  if (incident.fleet) return incident.fleet.name;
  if (incident.slo) return incident.slo.name;
  if (incident.kind === "slo") return "a deleted SLO";
  if (incident.kind === "fleet") return "a deleted fleet";
  if (incident.kind === "platform") return "Quorate";
  return "a deleted monitor";
}

/** `checkout is acknowledged`, `checkout and 2 more of its alert are acknowledged` */
export function acknowledgedWords(answer: About & { acknowledged: number }): string {
  const more = answer.acknowledged - 1;
  if (more < 1) return `${subjectOf(answer)} is acknowledged`;
  return `${subjectOf(answer)} and ${count(more)} more of its alert are acknowledged`;
}

/** The monitor's name, or the fleet's with what is wrong: `shop-web: web-3 fails more than its peers`; of our own: `Quorate cannot deliver alerts`; of a certificate: `shop shows a certificate that ends on 12 Dec 2026`. */
export function nameOf(incident: About): string {
  const name = subjectOf(incident);
  // Incidents of before there were titles name whom they are about.
  const what = incident.monitor && incident.kind !== "certificate" ? "" : (incident.title ?? whoOf(incident.subject));
  if (!what) return name;
  const goesOn = incident.kind === "platform" || incident.kind === "certificate";
  return goesOn ? `${name} ${what}` : `${name}: ${what}`;
}

/** How grave it is, in the words for its kind: a fleet is not up or down, its instances are. */
export function severityWord(
  incident: Pick<About, "fleet" | "slo" | "kind">,
  severity: Schemas["Severity"],
): string | undefined {
  if (incident.slo) return { down: "Burning fast", partial: "Overspent", degraded: "Budget low" }[severity];
  if (incident.kind === "platform") return { down: "Not working", partial: "Impaired", degraded: "In doubt" }[severity];
  if (incident.kind === "certificate") return "Certificate";
  if (!incident.fleet) return undefined;
  return { down: "Failing", partial: "Failing in part", degraded: "Not as usual" }[severity];
}
