/** What the editor of a status page holds, and how it becomes what the API takes. */

import type { Schemas } from "../../api/client";
import type { Known } from "../../components/Pick";
import { moved } from "../../lib/order";

type StatusPage = Schemas["StatusPage"];

export interface PartDraft {
  /** Stays with the row while rows are moved. */
  key: string;
  /** Of a part that was saved: posts refer to it. */
  id: string | null;
  name: string;
  description: string;
  /** `monitor slo` */
  about: string;
  /** Id of the monitor or SLO; empty until one is chosen, and when it was deleted. */
  target: string;
  /** What was behind it when it was read, by its own name. */
  known: Known | null;
}

export interface GroupDraft {
  key: string;
  id: string | null;
  name: string;
  parts: PartDraft[];
}

export interface Draft {
  name: string;
  slug: string;
  headline: string;
  timezone: string;
  domain: string;
  published: boolean;
  days: number | "";
  groups: GroupDraft[];
  links: { key: string; text: string; url: string }[];
}

let made = 0;
const fresh = () => {
  made += 1;
  return `k${made}`;
};

export const emptyPart = (): PartDraft => ({
  key: fresh(),
  id: null,
  name: "",
  description: "",
  about: "monitor",
  target: "",
  known: null,
});

export const emptyGroup = (): GroupDraft => ({ key: fresh(), id: null, name: "", parts: [emptyPart()] });
export const emptyLink = () => ({ key: fresh(), text: "", url: "" });

export function emptyDraft(zone: string): Draft {
  return {
    name: "",
    slug: "",
    headline: "",
    timezone: zone,
    domain: "",
    published: false,
    days: 90,
    groups: [emptyGroup()],
    links: [],
  };
}

export function draftOf(page: StatusPage): Draft {
  return {
    name: page.name,
    slug: page.slug,
    headline: page.headline,
    timezone: page.timezone,
    domain: page.domain ?? "",
    published: page.published,
    days: page.days,
    groups: page.groups.map((group) => ({
      key: fresh(),
      id: group.id,
      name: group.name,
      parts: group.parts.map(partOf),
    })),
    links: page.links.map((link) => ({ ...emptyLink(), ...link })),
  };
}

function partOf(part: Schemas["StatusPart"]): PartDraft {
  const known = part.slo ?? part.monitor ?? null;
  return {
    key: fresh(),
    id: part.id,
    name: part.name,
    description: part.description,
    about: part.slo ? "slo" : "monitor",
    target: known?.id ?? "",
    known,
  };
}

export function bodyOf(d: Draft) {
  return {
    name: d.name.trim(),
    slug: d.slug.trim(),
    headline: d.headline.trim(),
    timezone: d.timezone,
    domain: d.domain.trim() || null,
    published: d.published,
    days: d.days === "" ? 90 : d.days,
    groups: d.groups.map((group) => ({
      ...(group.id ? { id: group.id } : {}),
      name: group.name.trim(),
      parts: group.parts.map((part) => ({
        ...(part.id ? { id: part.id } : {}),
        name: part.name.trim(),
        description: part.description.trim(),
        ...(part.about === "slo" ? { slo: part.target } : { monitor: part.target }),
      })),
    })),
    links: d.links.map(({ text, url }) => ({ text: text.trim(), url: url.trim() })),
  } satisfies Schemas["NewStatusPage"];
}

/** The form's field for the API's; null when the form has none. */
export function fieldOf(field: string): string | null {
  const part = /^groups\[(\d+)\]\.parts\[(\d+)\](?:\.(\w+))?/.exec(field);
  if (part) {
    const [, g, p, name = "name"] = part;
    return `groups.${g}.parts.${p}.${name === "monitor" || name === "slo" ? "target" : name}`;
  }
  const group = /^groups\[(\d+)\](?:\.name)?$/.exec(field);
  if (group) return `groups.${group[1]}.name`;
  const link = /^links\[(\d+)\]\.(text|url)/.exec(field);
  if (link) return `links.${link[1]}.${link[2]}`;
  return ["name", "slug", "headline", "timezone", "domain", "published", "days"].includes(field) ? field : null;
}

/** An address made from a name: `Shop Example` is `shop-example`. */
export function slugOf(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 63)
    .replace(/^-|-$/g, "");
}

/** The groups with one part a place further; past the end of its group it goes into the next one. */
export function movePart(groups: readonly GroupDraft[], g: number, p: number, by: -1 | 1): GroupDraft[] {
  const from = groups[g];
  const part = from?.parts[p];
  if (!from || !part) return [...groups];
  if (p + by >= 0 && p + by < from.parts.length)
    return groups.map((group, i) => (i === g ? { ...group, parts: [...moved(group.parts, p, by)] } : group));
  const to = g + by;
  if (to < 0 || to >= groups.length) return [...groups];
  return groups.map((group, i) => {
    if (i === g) return { ...group, parts: group.parts.filter((_, at) => at !== p) };
    if (i === to) return { ...group, parts: by === 1 ? [part, ...group.parts] : [...group.parts, part] };
    return group;
  });
}

/** Whether a part could go further in that direction. */
export function canMovePart(groups: readonly GroupDraft[], g: number, p: number, by: -1 | 1): boolean {
  const within = p + by >= 0 && p + by < (groups[g]?.parts.length ?? 0);
  return within || (g + by >= 0 && g + by < groups.length);
}

/** What the fields are called where drafts are compared. */
export const labels: { readonly [K in keyof Draft]?: string } = {
  name: "Name",
  slug: "Address",
  headline: "Line below the name",
  timezone: "Time zone",
  domain: "Own domain",
  published: "Published",
  days: "Days shown",
  groups: "Groups and parts",
  links: "Links",
};

/** Groups and links as lines, for comparing: ids and keys say nothing to people. */
export function lines(d: Draft) {
  return {
    ...d,
    groups: d.groups.map((group) => `${group.name || "(no heading)"}: ${group.parts.map((p) => p.name).join(", ")}`),
    links: d.links.map((link) => `${link.text} ${link.url}`),
  };
}
