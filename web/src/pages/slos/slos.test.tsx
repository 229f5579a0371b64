import { screen, waitFor } from "@testing-library/react";
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
  it("shows what an import would do before it does it", async () => {
    const items = [{ document: 0, name: "Basket", id: null, done: "created" }];
    const left = [{ document: 1, name: "Theirs", why: "its metric is somebody else's" }];
    const answer = { dry_run: true, items, left_out: left, warnings: ["Basket: one thing"] };
    const { asked, bodies } = stubApi({ ...as("editor", [slo]), "POST /slos/import": { body: answer } });
    renderAt("/slos", route);
    const user = userEvent.setup();
    expect(await screen.findByRole("link", { name: "Export" })).toHaveAttribute("href", "/api/v1/slos.openslo.yaml");
    await user.click(screen.getByRole("button", { name: "Import…" }));
    await user.click(await screen.findByLabelText("Or the text itself"));
    await user.paste('{"apiVersion":"openslo/v1"}');
    await user.click(screen.getByRole("button", { name: "Show what would be done" }));
    const plan = await screen.findByRole("list", { name: "What would be done" });
    expect(plan).toHaveTextContent("Basket would be made");
    expect(plan).toHaveTextContent("Theirs is left out: its metric is somebody else's");
    await user.click(screen.getByRole("button", { name: "Import" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(asked.filter((one) => one === "POST /slos/import")).toHaveLength(2);
    expect(bodies).toContainEqual({ apiVersion: "openslo/v1" });
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
