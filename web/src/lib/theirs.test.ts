import { expect, it, vi } from "vitest";
import { readTheirs } from "./theirs";

it("shows what was read, and the refusal where nothing could be", async () => {
  const [show, refuse] = [vi.fn(), vi.fn()];
  await readTheirs(async () => ({ revision: 2 }), show, refuse);
  expect(show.mock.calls).toEqual([["reading"], [{ revision: 2 }]]);
  expect(refuse).not.toHaveBeenCalled();
  show.mockClear();
  await readTheirs(() => Promise.reject(new Error("away")), show, refuse);
  expect(show.mock.calls).toEqual([["reading"], [null]]);
  expect(refuse).toHaveBeenCalledOnce();
});
