/** Status pages and their posts in words. */

import type { Schemas } from "../../api/client";
import { list, plural } from "../../lib/format";

type StatusPage = Schemas["StatusPage"];
type Progress = Schemas["StatusProgress"];
type Impact = Schemas["StatusImpact"];

/** How far one is, in the order in which it usually goes. */
export const progress: readonly { value: Progress; label: string }[] = [
  { value: "investigating", label: "Investigating" },
  { value: "identified", label: "Identified" },
  { value: "monitoring", label: "Monitoring" },
  { value: "resolved", label: "Resolved" },
];

export const impacts: readonly { value: Impact; label: string; mark: string }[] = [
  { value: "none", label: "None", mark: "up" },
  { value: "minor", label: "Minor", mark: "slow" },
  { value: "major", label: "Major", mark: "partial" },
  { value: "critical", label: "Critical", mark: "down" },
];

export const progressWord = (value: Progress) => progress.find((one) => one.value === value)?.label ?? value;
export const impactWord = (value: Impact) => impacts.find((one) => one.value === value)?.label ?? value;
export const impactMark = (value: Impact) => impacts.find((one) => one.value === value)?.mark ?? "unknown";

export function partsOf(page: Pick<StatusPage, "groups">): Schemas["StatusPart"][] {
  return page.groups.flatMap((group) => group.parts);
}

/** Parts behind which nothing is any more: the public sees them as not measured. */
export function orphans(page: Pick<StatusPage, "groups">): Schemas["StatusPart"][] {
  return partsOf(page).filter((part) => !part.monitor && !part.slo);
}

/** One sentence over the list. */
export function pagesSentence(pages: readonly StatusPage[]): string {
  if (pages.length === 0) return "Nothing is told to the public yet.";
  const open = pages.filter((page) => page.published && page.open_posts > 0);
  const shown = pages.filter((page) => page.published);
  if (shown.length === 0)
    return `${pages.length === 1 ? "The page is a draft" : "Every page is a draft"}: nobody outside sees it.`;
  if (open.length > 0)
    return `${list(open.map((page) => page.name))} ${open.length === 1 ? "tells" : "tell"} of something that is not resolved.`;
  return `${shown.length > 3 ? plural(shown.length, "page") : list(shown.map((page) => page.name))} ${
    shown.length === 1 ? "is" : "are"
  } public; nothing is open.`;
}

/** One sentence over a page. */
export function pageSentence(page: StatusPage): string {
  const many = partsOf(page).length;
  const parts = many === 0 ? "no part yet" : plural(many, "part");
  if (!page.published) return `A draft with ${parts}: the public gets the same answer as for a page that is not there.`;
  if (page.open_posts > 0)
    return `Public, with ${plural(page.open_posts, "post")} that ${page.open_posts === 1 ? "is" : "are"} not resolved.`;
  return `Public, with ${parts}; no post is open.`;
}

/** `2026-11-17T03:07` of an instant, for a field of date and time in the browser's own zone. */
export function localInput(at: string | number | Date): string {
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The instant behind such a field; null when it is empty. */
export function instantOf(local: string): string | null {
  if (local === "") return null;
  const date = new Date(local);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
