import { describe, expect, it } from "vitest";
import { percentOf, ppbOf } from "./target";

describe("an objective", () => {
  it("is read without a binary fraction in between", () => {
    expect(ppbOf("99.9")).toBe(999_000_000);
    expect(ppbOf("99.95 %")).toBe(999_500_000);
    expect(ppbOf("99,99")).toBe(999_900_000);
    expect(ppbOf("99.9999999")).toBe(999_999_999);
    expect(ppbOf("0.0000001")).toBe(1);
    expect(ppbOf("99.90000000")).toBe(999_000_000);
  });
  it("is refused at both ends, and beyond what can be kept", () => {
    for (const text of ["", "0", "100", "100.0", "-1", "99.99999999", "ninety", "1e2"]) expect(ppbOf(text)).toBeNull();
  });
  it("is written as it was typed", () => {
    for (const text of ["99.9", "99", "99.9999999", "0.0000001", "95.5"])
      expect(percentOf(ppbOf(text) ?? 0)).toBe(text);
  });
});
