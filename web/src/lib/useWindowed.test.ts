import { describe, expect, it } from "vitest";
import { inView } from "./useWindowed";

describe("rows drawn on scroll", () => {
  it("draws what is near the window and keeps the height", () => {
    const view = inView(1000, 36, 3600, 720, 10);
    expect([view.first, view.last]).toEqual([90, 130]);
    expect(view.above + (view.last - view.first) * 36 + view.below).toBe(36_000);
  });
  it("copes with short lists and being scrolled past", () => {
    expect(inView(3, 36, 0, 720)).toEqual({ first: 0, last: 3, above: 0, below: 0 });
    expect(inView(3, 36, 99_999, 720)).toEqual({ first: 3, last: 3, above: 108, below: 0 });
    expect(inView(0, 36, 0, 720)).toEqual({ first: 0, last: 0, above: 0, below: 0 });
  });
});
