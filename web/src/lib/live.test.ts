import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { follow } from "./live";

let hear: (event: { data: string }) => void = () => {};

class Stream {
  static CLOSED = 2;
  readyState = 1;
  addEventListener(_name: string, listener: (event: { data: string }) => void) {
    hear = listener;
  }
  close() {}
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Stream);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const key = (path: string, id?: string) => ["get", path, ...(id ? [{ params: { path: { id } } }] : [])];
const asked = [
  key("/api/v1/fleets"),
  key("/api/v1/fleets/{id}", "a"),
  key("/api/v1/fleets/{id}/findings", "a"),
  key("/api/v1/fleets/{id}/findings", "b"),
  key("/api/v1/fleets/{id}/sources", "b"),
  key("/api/v1/incidents/{id}", "i"),
  key("/api/v1/overview"),
];

function stale(change: object): string[] {
  const client = new QueryClient();
  for (const one of asked) client.setQueryData(one, {});
  const stop = follow("/events", client);
  const none = { monitors: [], incidents: [], locations: false, results: false, fleets: [], lines: false };
  hear({ data: JSON.stringify({ ...none, ...change }) });
  vi.advanceTimersByTime(6_000);
  stop();
  return asked
    .filter((one) => client.getQueryState(one)?.isInvalidated)
    .map((one) =>
      `${one[1]} ${(one[2] as { params: { path: { id: string } } } | undefined)?.params.path.id ?? ""}`.trim(),
    );
}

test("a fleet that was judged is asked for again, and no other", () => {
  expect(stale({ fleets: ["a"] })).toEqual([
    "/api/v1/fleets",
    "/api/v1/fleets/{id} a",
    "/api/v1/fleets/{id}/findings a",
    "/api/v1/incidents/{id} i",
  ]);
});

test("new lines change how far the sources are, and nothing that is judged", () => {
  expect(stale({ lines: true })).toEqual(["/api/v1/fleets", "/api/v1/fleets/{id} a", "/api/v1/fleets/{id}/sources b"]);
});

test("a coordinator that knows no fleets in its stream is understood", () => {
  expect(stale({ fleets: undefined, lines: undefined, monitors: ["m"] })).toEqual(["/api/v1/overview"]);
});
