import { describe, expect, it } from "vitest";
import { formatQuery, parseQuery, term, toggle } from "./query";

describe("a filter as text", () => {
  it("reads words, properties and alternatives", () => {
    expect(parseQuery('cart group:shop,"north west" state:down sort:latency')).toEqual({
      words: ["cart"],
      terms: { group: ["shop", "north west"], state: ["down"], sort: ["latency"] },
    });
  });
  it("survives being written and read again", () => {
    for (const text of ["", "cart", 'group:"north west",shop', "state:down,partial cart", '"a:b"']) {
      const once = parseQuery(text);
      expect(parseQuery(formatQuery(once))).toEqual(once);
    }
  });
  it("keeps half-typed text as a word", () => {
    expect(parseQuery("state:")).toEqual({ words: ["state:"], terms: {} });
    expect(parseQuery('"open').words).toEqual(["open"]);
  });
  it("toggles one value", () => {
    expect(toggle("cart", "state", "down")).toBe("cart state:down");
    expect(toggle("cart state:down,partial", "state", "down")).toBe("cart state:partial");
    expect(toggle("state:down", "state", "down")).toBe("");
    expect(term(parseQuery("sort:name"), "sort")).toBe("name");
  });
});
