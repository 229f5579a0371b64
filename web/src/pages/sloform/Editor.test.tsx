import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { renderAt, stubApi } from "../../test-app";
import { emptyDraft } from "./draft";
import { Editor } from "./Editor";

it("shows what somebody else saved beside what was typed, and loses none of it", async () => {
  const slo = {
    id: "s",
    name: "checkout",
    service: "",
    owner: "",
    description: "",
    labels: {},
    subject: "monitor",
    monitor: { id: "m", name: "checkout" },
    members: [],
    sli: "availability",
    target_ppb: 999_000_000,
    window: { kind: "calendar", duration: "1M", timezone: "UTC" },
    unknown_policy: "exclude",
    maintenance_policy: "exclude",
    partial_weight_ppm: 0,
    coverage_min: 0.9,
    decimals: 3,
    usual_rules: true,
    rules: [],
    channels: [],
    revision: 2,
  } as unknown as Schemas["Slo"];
  const { asked } = stubApi({
    "GET /session": { body: { name: "lou", role: "editor" } },
    "GET /channels": { body: { items: [], next: null } },
    "GET /fleets": { body: { items: [], next: null } },
    "GET /monitors": { body: { items: [], next: null } },
    "GET /slos/s": { body: { ...slo, service: "till", target_ppb: 995_000_000, revision: 3 } },
    "PATCH /slos/s": { status: 409, body: { error: { code: "revision", message: "It was changed meanwhile." } } },
  });
  const initial = { ...emptyDraft("m", "UTC"), name: "checkout", target: "99.9" };
  renderAt("/", [{ path: "/", element: <Editor initial={initial} slo={slo} /> }]);
  const user = userEvent.setup();
  const service = screen.getByLabelText(/^Service/);
  await user.type(service, "shop");
  await user.click(screen.getByRole("button", { name: "Save" }));
  const conflict = await screen.findByRole("alert", { name: "Changed by somebody else" });
  expect(await within(conflict).findByRole("row", { name: "Service till shop" })).toBeInTheDocument();
  expect(within(conflict).getByRole("row", { name: "Objective, % 99.5 99.9" })).toBeInTheDocument();
  expect(within(conflict).getAllByRole("row")).toHaveLength(3);
  expect(service).toHaveValue("shop");
  await user.click(within(conflict).getByRole("button", { name: "Take theirs" }));
  expect(service).toHaveValue("till");
  expect(asked.filter((key) => key === "PATCH /slos/s")).toHaveLength(1);
});
