import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { renderAt, stubApi } from "../../test-app";
import { StatusPagesPage } from ".";
import { EditStatusPage, NewStatusPage } from "./Edit";
import { StatusPageOverview } from "./Overview";

const part = (id: string, name: string) => ({
  id,
  name,
  slug: name.toLowerCase(),
  description: "",
  monitor: { id: `m-${id}`, name: `internal-${id}` },
  slo: null,
});
const page = {
  id: "s",
  name: "Shop Example",
  slug: "shop",
  headline: "",
  timezone: "UTC",
  domain: null,
  published: true,
  days: 90,
  groups: [
    { id: "g", name: "Sales", parts: [part("a", "Checkout"), part("b", "Search")] },
    { id: "h", name: "Rest", parts: [part("c", "Media")] },
  ],
  links: [],
  url: "https://q.example/status/shop",
  open_posts: 1,
  revision: 3,
  created_at: "2026-11-01T00:00:00.000Z",
  updated_at: "2026-11-01T00:00:00.000Z",
};
const post = {
  id: "p",
  title: "Paying fails for most people",
  impact: "major",
  parts: ["a"],
  incident: null,
  status: "investigating",
  started_at: "2026-11-17T03:02:11.000Z",
  resolved_at: null,
  updates: [{ id: "u", status: "investigating", text: "We see it.", at: "2026-11-17T03:07:00.000Z", by: "lou" }],
  url: "https://q.example/status/shop/posts/p",
  revision: 1,
  created_at: "2026-11-17T03:07:00.000Z",
  created_by: "lou",
  updated_at: "2026-11-17T03:07:00.000Z",
};
const list = (...items: unknown[]) => ({ body: { items, next: null } });
const as = (role: string) => ({
  "GET /session": { body: { name: role, role } },
  "GET /status-pages": list(page),
  "GET /status-pages/s": { body: page },
  "GET /status-pages/s/posts": list(post),
  "GET /monitors": list({ id: "m-new", name: "internal-new" }),
  "GET /incidents": list(),
});
const routes = [
  { path: "/status-pages", element: <StatusPagesPage /> },
  { path: "/status-pages/new", element: <NewStatusPage /> },
  { path: "/status-pages/:id", element: <StatusPageOverview /> },
  { path: "/status-pages/:id/edit", element: <EditStatusPage /> },
];

describe("status pages", () => {
  it("are listed with what is open", async () => {
    stubApi(as("viewer"));
    renderAt("/status-pages", routes);
    expect(
      await screen.findByRole("heading", { level: 1, name: "Shop Example tells of something that is not resolved." }),
    ).toBeInTheDocument();
    expect(screen.queryByRole("link", { name: "Add a page" })).toBeNull();
  });
  it("show a viewer what is told and what is behind it, and no action", async () => {
    stubApi(as("viewer"));
    renderAt("/status-pages/s", routes);
    const told = await screen.findAllByRole("article", { name: "Paying fails for most people" });
    expect(told[0]).toHaveTextContent(/Major impact.*Checkout.*We see it\./);
    expect(screen.getByRole("row", { name: "Checkout monitor internal-a" })).toBeInTheDocument();
    for (const name of ["Write a post", "Add an update", "Delete…", "Publish", "Back to draft"])
      expect(screen.queryByRole("button", { name })).toBeNull();
  });
});

describe("the editor", () => {
  it("moves a part into the next group with the keyboard, and saves it under its id", async () => {
    const { asked, bodies } = stubApi({ ...as("editor"), "PATCH /status-pages/s": { body: page } });
    renderAt("/status-pages/s/edit", routes);
    const user = userEvent.setup();
    const search = await screen.findByRole("listitem", { name: "Search" });
    within(search).getByRole("button", { name: "Move Search down" }).focus();
    await user.keyboard("{Alt>}{ArrowDown}{/Alt}");
    expect(screen.getByText("Search is now 1 of 2 in Rest.")).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Save" }));
    await screen.findByRole("heading", { level: 1, name: /^Public, with/ });
    expect(bodies[asked.indexOf("PATCH /status-pages/s")]).toMatchObject({
      groups: [
        { id: "g", parts: [{ id: "a", monitor: "m-a" }] },
        { id: "h", parts: [{ id: "b", monitor: "m-b" }, { id: "c" }] },
      ],
    });
  });
  it("makes the address from the name, and asks for a public name beside the monitor's own", async () => {
    const { asked } = stubApi(as("editor"));
    renderAt("/status-pages/new", routes);
    const user = userEvent.setup();
    await user.type(await screen.findByLabelText(/^Name/), "Shop Köln");
    expect(screen.getByLabelText(/^Address/)).toHaveValue("shop-koln");
    await user.click(screen.getByRole("button", { name: "Save the draft" }));
    expect(await screen.findByText("It needs a public name; the monitor's own is never shown.")).toBeInTheDocument();
    expect(asked).not.toContain("POST /status-pages");
  });
  it("puts a refusal at the part it is about, also when that is folded", async () => {
    const error = { code: "invalid", message: "is the name of another part", field: "groups[1].parts[0].name" };
    stubApi({ ...as("editor"), "PATCH /status-pages/s": { status: 422, body: { error } } });
    renderAt("/status-pages/s/edit", routes);
    await userEvent.setup().click(await screen.findByRole("button", { name: "Save" }));
    const media = await screen.findByRole("listitem", { name: "Media" });
    expect(await within(media).findByText("Is the name of another part.")).toBeInTheDocument();
  });
});
