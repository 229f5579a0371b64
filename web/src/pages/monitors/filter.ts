import type { paths } from "../../api/schema";
import { parseQuery, term } from "../../lib/query";

export type ListParams = NonNullable<paths["/api/v1/monitors"]["get"]["parameters"]["query"]>;

/** Words that people may write for states. */
const stateWords: Record<string, string> = { slow: "degraded" };

/** The filter line as the API takes it, and what of it the API does not know. */
export function toParams(text: string): { params: ListParams; unknown: string[] } {
  const query = parseQuery(text);
  const params: ListParams = {};
  const unknown: string[] = [];
  if (query.words.length > 0) params.q = query.words.join(" ");
  for (const [key, values] of Object.entries(query.terms)) {
    if (key === "state") params.state = values.map((v) => stateWords[v] ?? v).join(",");
    else if (key === "group" || key === "label" || key === "location") params[key] = values.at(-1);
    else if (key !== "sort") unknown.push(key);
  }
  const sort = term(query, "sort");
  if (sort === "name" || sort === "state") params.sort = sort;
  else if (sort !== null) unknown.push(`sort:${sort}`);
  // The worst first, unless asked otherwise: that is what one looks for.
  params.sort ??= "state";
  return { params, unknown };
}
