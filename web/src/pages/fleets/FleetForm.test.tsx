import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, it, vi } from "vitest";
import type { Schemas } from "../../api/client";
import { renderAt, stubApi } from "../../test-app";
import { FleetForm } from "./FleetForm";

const fleet = {
  id: "f",
  name: "shop-web",
  expected: 8,
  revision: 5,
  instances: [],
  probe_paths: [],
  few_ready: { critical_s: 30, warning_s: 600 },
  flap: { from: 4, until: 1, window_s: 600 },
  rules: { min_severity: "warning", channels: [], kinds: {} },
} as unknown as Schemas["Fleet"];
const theirs = { ...fleet, expected: 9, revision: 6 };

/** The page around the form asks for the fleet again, and hands on what it got. */
function Around({ done }: { done: (saved: Schemas["Fleet"]) => void }) {
  const [read, setRead] = useState(fleet);
  return (
    <>
      <button type="button" onClick={() => setRead(theirs)}>
        ask again
      </button>
      <FleetForm fleet={read} done={done} />
    </>
  );
}

it("saves only over what it was opened with, and keeps what was typed when that has changed", async () => {
  const sent: (string | null)[] = [];
  const { asked, bodies } = stubApi({
    "GET /channels": { body: { items: [], next: null } },
    "GET /fleets/f": { body: theirs },
    "PATCH /fleets/f": () =>
      sent.length === 1
        ? { status: 409, body: { error: { code: "revision", message: "It was changed meanwhile." } } }
        : { body: theirs },
  });
  const answer = globalThis.fetch;
  vi.stubGlobal("fetch", (request: Request) => {
    if (request.method === "PATCH") sent.push(request.headers.get("if-match"));
    return answer(request);
  });
  const done = vi.fn();
  renderAt("/", [{ path: "/", element: <Around done={done} /> }]);
  const user = userEvent.setup();
  const name = screen.getByLabelText(/^Name/);
  await user.clear(name);
  await user.type(name, "shop-front");
  await user.click(screen.getByRole("button", { name: "ask again" }));
  expect(name).toHaveValue("shop-front");
  await user.click(screen.getByRole("button", { name: "Save" }));
  const conflict = await screen.findByRole("alert", { name: "Changed by somebody else" });
  expect(await within(conflict).findByRole("row", { name: "Instances 9 8" })).toBeInTheDocument();
  expect(sent).toEqual(['"5"']);
  expect(name).toHaveValue("shop-front");
  expect(done).not.toHaveBeenCalled();
  await user.click(within(conflict).getByRole("button", { name: "Save mine over it" }));
  await vi.waitFor(() => expect(done).toHaveBeenCalled());
  expect(sent).toEqual(['"5"', '"6"']);
  expect(bodies[asked.lastIndexOf("PATCH /fleets/f")]).toMatchObject({ name: "shop-front", expected: 8 });
});
