import { describe, expect, it } from "vitest";
import { moved } from "./order";

describe("moving an item of a list", () => {
  it("goes up and down by places", () => {
    expect(moved(["a", "b", "c"], 2, -1)).toEqual(["a", "c", "b"]);
    expect(moved(["a", "b", "c"], 0, 2)).toEqual(["b", "c", "a"]);
  });
  it("stays within the list", () => {
    const list = ["a", "b"];
    expect(moved(list, 0, -1)).toBe(list);
    expect(moved(list, 1, 1)).toBe(list);
    expect(moved(list, 5, -1)).toBe(list);
  });
});
