import { describe, expect, it } from "vitest";
import { inOrder } from "./useFrozen";

const rows = (ids: string) => ids.split("").map((id) => ({ id }));
const see = (ids: string, order: string) => {
  const { shown, changed } = inOrder(rows(ids), order.split(""), (r) => r.id);
  return [shown.map((r) => r.id).join(""), changed];
};

describe("a list that is being used", () => {
  it("keeps its order and counts what would change", () => {
    expect(see("abc", "abc")).toEqual(["abc", 0]);
    expect(see("cab", "abc")).toEqual(["abc", 1]);
    expect(see("adbc", "abc")).toEqual(["abc", 1]);
    expect(see("ac", "abc")).toEqual(["ac", 1]);
    expect(see("dca", "abc")).toEqual(["ac", 3]);
  });
  it("takes the next page at its end", () => {
    expect(see("abcde", "abc")).toEqual(["abcde", 0]);
    expect(see("bacd", "abc")).toEqual(["abcd", 1]);
  });
});
