/** Routes × instances: which columns there are, and which row is the bad one. */

import type { Schemas } from "../../api/client";
import { plural } from "../../lib/format";
import { byName } from "./scale";

type Route = Schemas["FleetRoute"];

/** More columns than this are folded behind the blamed ones. */
const COLUMNS = 12;

/** One instance, or the rest together. */
export interface Column {
  name: string;
  instances: ReadonlySet<string>;
  blamed: boolean;
}

/**
 * A column for every instance; of many only for the blamed ones, and one for the others together;
 * none where nobody is blamed.
 */
export function columnsOf(routes: readonly Route[], blamed: ReadonlySet<string>): Column[] {
  const names = [...new Set(routes.flatMap((r) => r.instances.map((i) => i.instance)))].sort(byName);
  const one = (name: string): Column => ({ name, instances: new Set([name]), blamed: blamed.has(name) });
  if (names.length <= COLUMNS) return names.map(one);
  if (blamed.size === 0) return [];
  const named = names.filter((name) => blamed.has(name)).slice(0, COLUMNS - 1);
  const rest = names.filter((name) => !named.includes(name));
  return [
    ...named.map(one),
    {
      name: plural(rest.length, "other"),
      instances: new Set(rest),
      blamed: false,
    },
  ];
}

/** The share of failed attempts of a route on the instances of a column; null without attempts. */
export function shareIn(route: Route, column: Column): number | null {
  const cells = route.instances.filter((i) => column.instances.has(i.instance));
  const attempts = cells.reduce((sum, cell) => sum + cell.attempts, 0);
  return attempts === 0 ? null : cells.reduce((sum, cell) => sum + cell.errors, 0) / attempts;
}

/**
 * Routes that fail wherever they are served: at least half of their instances fail 2 % of them and three
 * times what all other routes together fail.
 */
export function badRoutes(routes: readonly Route[]): Set<string> {
  const bad = new Set<string>();
  const sum = (list: readonly Route[], what: "attempts" | "errors") => list.reduce((s, r) => s + r[what], 0);
  for (const route of routes) {
    const others = routes.filter((r) => r !== route);
    const usual = sum(others, "attempts") === 0 ? 0 : sum(others, "errors") / sum(others, "attempts");
    const limit = Math.max(0.02, 3 * usual);
    const served = route.instances.filter((i) => i.attempts > 0);
    const failing = served.filter((i) => i.errors / i.attempts >= limit).length;
    if (served.length >= 2 && failing * 2 >= served.length) bad.add(route.route);
  }
  return bad;
}
