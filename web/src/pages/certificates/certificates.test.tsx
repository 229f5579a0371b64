import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { renderAt, stubApi } from "../../test-app";
import { CertificatesPage } from ".";

const location = (name: string) => ({ id: name, name, region: "eu", domain: "a", simulated: false });
const seen = (name: string, address: string) => ({
  location: location(name),
  address,
  since: "2026-11-01T00:00:00Z",
  last_seen_at: "2026-11-17T00:00:00Z",
});
const shop = {
  monitor: { id: "m", name: "checkout", group: "", target: "https://shop.example/", runbook_url: null },
  fingerprint: "ab",
  subject: "CN=shop.example",
  names: ["shop.example", "www.shop.example"],
  issuer: "Example CA",
  issuer_name: "O=Example CA",
  not_before: "2026-09-01T00:00:00Z",
  not_after: "2026-11-22T12:00:00Z",
  days_left: 5,
  valid: true,
  problem: null,
  since: "2026-11-01T00:00:00Z",
  last_seen_at: "2026-11-17T00:00:00Z",
  seen_by: [seen("fra", "192.0.2.7"), seen("ams", "192.0.2.7")],
  locations: 5,
  certificates: 2,
  renewed_days_left: 29,
  incident: "i",
};
const counts = { certificates: 1, monitors: 1, expired: 0, within_7: 1, within_30: 1, invalid: 0, differing: 1 };
const none = { certificates: 0, monitors: 0, expired: 0, within_7: 0, within_30: 0, invalid: 0, differing: 0 };

const as = (items: unknown[], n: unknown = counts) => ({
  "GET /session": { body: { name: "viewer", role: "viewer" } },
  "GET /certificates": { body: { items, next: null } },
  "GET /certificates/counts": { body: n },
  "GET /settings/alerts": { body: { certificate_days: [30, 7], certificate_issuer: true } },
});
const route = [{ path: "/certificates", element: <CertificatesPage /> }];

describe("the list of certificates", () => {
  it("says how long, whose, and who is shown it", async () => {
    stubApi(as([shop]));
    renderAt("/certificates", route);
    const sentence = /1\scertificate ends within 7\sdays. 1\smonitor is shown different ones in different places./;
    expect(await screen.findByRole("heading", { level: 1, name: sentence })).toBeInTheDocument();
    const row = await screen.findByRole("row", { name: /checkout/ });
    expect(row).toHaveTextContent(/^5\sd/);
    expect(row).toHaveTextContent("shop.example, www.shop.example");
    expect(row).toHaveTextContent(/24\sd late by its own habit/);
    expect(row).toHaveTextContent(/2 of 5\slocations/);
    expect(row).toHaveTextContent("fra at 192.0.2.7, ams at 192.0.2.7; others are shown another");
    expect(screen.getByRole("link", { name: "checkout" })).toHaveAttribute("href", "/monitors/m");
    expect(screen.getByRole("link", { name: "told" })).toHaveAttribute("href", "/incidents/i");
    expect(await screen.findByText(/Told once at 30 and 7 days left/)).toBeInTheDocument();
  });
  it("keeps its filter in the address and takes it back at once", async () => {
    stubApi(as([]));
    const { router } = renderAt("/certificates?show=differing&q=x&monitor=m", route);
    expect(await screen.findByText("Nothing matches.")).toBeInTheDocument();
    expect(screen.getByRole("button", { name: /differ by location/ })).toHaveAttribute("aria-pressed", "true");
    await userEvent.setup().click(screen.getByRole("button", { name: "Show all" }));
    expect(router.state.location.search).toBe("");
  });
  it("says where they come from while there are none", async () => {
    stubApi(as([], none));
    renderAt("/certificates", route);
    expect(await screen.findByRole("heading", { level: 1, name: "No certificate is shown yet." })).toBeInTheDocument();
    expect(await screen.findByText(/appears here with its first result/)).toBeInTheDocument();
    expect(screen.queryByRole("link", { name: "Add a monitor" })).toBeNull();
  });
  it("says why it cannot be read, and what is not valid", async () => {
    const broken = { ...shop, valid: false, days_left: -3, problem: "The certificate ended 2 days ago." };
    stubApi(as([broken], { ...counts, expired: 1, within_7: 0, within_30: 0, invalid: 1, differing: 0 }));
    renderAt("/certificates", route);
    const row = await screen.findByRole("row", { name: /checkout/ });
    expect(row).toHaveTextContent(/Ended 2\sd ago/);
    expect(row).toHaveTextContent("The certificate ended 2 days ago.");
  });
  it("fails in its own part", async () => {
    stubApi({
      ...as([]),
      "GET /certificates": { status: 503, body: { error: { code: "unavailable", message: "Not now." } } },
    });
    renderAt("/certificates", route);
    expect(await screen.findByText(/Not now\./)).toBeInTheDocument();
    expect(screen.getByRole("button", { name: "Try again" })).toBeInTheDocument();
  });
});
