import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { renderAt, stubApi } from "../../test-app";
import { SlosPage } from ".";

const slo = {
  id: "s",
  name: "checkout",
  service: "shop",
  subject: "monitor",
  monitor: { id: "m", name: "checkout" },
  members: [],
  sli: "availability",
  target_pct: "99.9",
  window: { kind: "calendar", duration: "1M", timezone: "UTC" },
  now: { state: "burning", pct: "99.918", remaining_ratio: 0.19, budget_left: 492_000, unit: "ms" },
};

const as = (role: string, items: unknown[]) => ({
  "GET /session": { body: { name: role, role } },
  "GET /slos": { body: { items, next: null } },
});
const route = [{ path: "/slos", element: <SlosPage /> }];

describe("the list of SLOs", () => {
  it("shows the figures as the API gives them", async () => {
    stubApi(as("editor", [slo]));
    renderAt("/slos", route);
    expect(await screen.findByRole("heading", { level: 1, name: "checkout is burning." })).toBeInTheDocument();
    const row = screen.getByRole("row", { name: /checkout/ });
    expect(row).toHaveTextContent(/99\.918\s%/);
    expect(row).toHaveTextContent(/19\.0\s%\s*8\smin 12\ss/);
    expect(screen.getByRole("link", { name: "Add an SLO" })).toBeInTheDocument();
  });
  it("tells a viewer the next step, and shows no action", async () => {
    stubApi(as("viewer", []));
    renderAt("/slos", route);
    expect(await screen.findByText(/An editor can add one/)).toBeInTheDocument();
    expect(screen.queryByRole("link", { name: "Add an SLO" })).toBeNull();
    expect(screen.queryByRole("button", { name: "Burning" })).toBeNull();
    expect(screen.queryByRole("searchbox")).toBeNull();
  });
  it("says that a filter matches nothing", async () => {
    stubApi(as("editor", []));
    renderAt("/slos?state=burning", route);
    expect(await screen.findByText("Nothing matches.")).toBeInTheDocument();
    expect(screen.getByRole("button", { name: "Burning" })).toHaveAttribute("aria-pressed", "true");
  });
  it("takes every filter back at once", async () => {
    stubApi(as("editor", []));
    const { router } = renderAt("/slos?q=till&state=burning&service=shop", route);
    await userEvent.setup().click(await screen.findByRole("button", { name: "Show all" }));
    expect(router.state.location.search).toBe("");
  });
});
