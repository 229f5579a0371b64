import { describe, expect, it } from "vitest";
import { toParams } from "./filter";

describe("the monitors filter", () => {
  it("becomes the API's parameters, the worst first", () => {
    expect(toParams("").params).toEqual({ sort: "state" });
    expect(toParams("cart state:slow,down group:shop sort:name label:team=shop").params).toEqual({
      q: "cart",
      state: "degraded,down",
      group: "shop",
      label: "team=shop",
      sort: "name",
    });
  });
  it("names what it does not understand", () => {
    expect(toParams("colour:red sort:size").unknown).toEqual(["colour", "sort:size"]);
  });
});
