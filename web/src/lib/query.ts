/**
 * The filter of a list as one line of text that lives in the address: words narrow by name, `key:a,b`
 * by a property, `sort:key` orders. `group:shop state:down,partial cart sort:latency`
 */
export interface Query {
  words: string[];
  /** Property to its accepted values; several values of one property are alternatives. */
  terms: Record<string, string[]>;
}

export function parseQuery(text: string): Query {
  const query: Query = { words: [], terms: {} };
  for (const token of text.match(/(?:[^\s"]|"[^"]*")+/g) ?? []) {
    const at = token.indexOf(":");
    const bare = (s: string) => s.replaceAll('"', "");
    if (at > 0 && !token.startsWith('"') && at < token.length - 1) {
      const key = token.slice(0, at).toLowerCase();
      query.terms[key] = [...(query.terms[key] ?? []), ...splitValues(token.slice(at + 1)).map(bare)];
    } else if (bare(token) !== "") query.words.push(bare(token).toLowerCase());
  }
  return query;
}

function splitValues(text: string): string[] {
  return (text.match(/(?:[^,"]|"[^"]*")+/g) ?? []).filter((v) => v !== "");
}

export function formatQuery(query: Query): string {
  const quote = (v: string) => (/[\s,:]/.test(v) ? `"${v}"` : v);
  const terms = Object.entries(query.terms)
    .filter(([, values]) => values.length > 0)
    .map(([key, values]) => `${key}:${values.map(quote).join(",")}`);
  return [...query.words.map(quote), ...terms].join(" ");
}

/** The text with one value of one property switched on or off: what a chip does. */
export function toggle(text: string, key: string, value: string): string {
  const query = parseQuery(text);
  const values = query.terms[key] ?? [];
  query.terms[key] = values.includes(value) ? values.filter((v) => v !== value) : [...values, value];
  return formatQuery(query);
}

/** The one value of a property that only makes sense once, such as `sort`. */
export function term(query: Query, key: string): string | null {
  return query.terms[key]?.at(-1) ?? null;
}
