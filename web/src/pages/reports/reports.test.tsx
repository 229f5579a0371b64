import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { renderAt, stubApi } from "../../test-app";
import { ReportsPage } from ".";
import { presetOf } from "./draft";
import { EditSchedulePage } from "./Edit";
import { deliverySaid, lastSaid, periodOf, reportsSentence, verdictSaid } from "./words";

const NOW = Date.parse("2026-11-17T03:00:00Z") / 1000;

const schedule = {
  id: "r",
  name: "monthly",
  slos: [{ id: "s", name: "checkout" }],
  cron: "0 8 4 * *",
  timezone: "Europe/Berlin",
  channel: "c",
  channel_name: "mail ops",
  customer: "Shop GmbH",
  enabled: true,
  next_at: "2026-12-04T07:00:00.000Z",
  upcoming: ["2026-12-04T07:00:00.000Z", "2027-01-04T07:00:00.000Z", "2027-02-04T07:00:00.000Z"],
  last: null,
  revision: 3,
  created_at: "2026-10-01T00:00:00.000Z",
  updated_at: "2026-10-01T00:00:00.000Z",
};
const last = { due_at: "", made_at: "2026-11-04T07:00:00.000Z", reports: 3, delivered: 3, failed: 0, answer: null };

const made = {
  id: "m",
  schedule: "r",
  schedule_name: "monthly",
  slo: { id: "s", name: "checkout" },
  due_at: "2026-11-04T07:00:00.000Z",
  window_start: "2026-09-30T22:00:00.000Z",
  window_end: "2026-10-31T23:00:00.000Z",
  window: { kind: "calendar", duration: "1M", timezone: "Europe/Berlin" },
  revision: 1,
  target_pct: "99.9",
  pct: "99.951",
  met: true,
  state: "ok",
  sha256: "3f9c",
  made_at: "2026-11-04T07:00:01.000Z",
  outcome: "failed",
  answer: "550 no such mailbox",
};

const plain = (text: string) => text.replaceAll("\u00a0", " ");

describe("what reports say", () => {
  it("names the next one, in the zone of its schedule", () => {
    expect(reportsSentence([], NOW)).toBe("No report is sent by itself.");
    expect(reportsSentence([schedule], NOW)).toBe("Next: monthly, Fri 4 Dec 08:00 CET.");
    const off = { ...schedule, enabled: false, upcoming: [] };
    expect(reportsSentence([off], NOW)).toMatch(/^Every schedule is switched off/);
  });
  it("names what did not arrive first", () => {
    const refused = { ...schedule, last: { ...last, delivered: 2, failed: 1 } };
    expect(reportsSentence([schedule, refused], NOW)).toBe("Not everything arrived of what monthly sent last.");
  });
  it("tells how deliveries went", () => {
    expect(lastSaid(null).word).toBe("Never sent");
    expect(lastSaid(last)).toEqual({ mark: "up", word: "Accepted" });
    expect(lastSaid({ ...last, delivered: 1, failed: 2 })).toEqual({ mark: "down", word: "Refused 2 of 3" });
    expect(lastSaid({ ...last, delivered: 1 })).toEqual({ mark: "pending", word: "Being tried 2 of 3" });
    expect(deliverySaid(null).word).toBe("Being tried");
  });
  it("calls a window that is over met or missed, and any other by its state", () => {
    expect(verdictSaid({ met: true, state: "ok" }).word).toBe("Met");
    expect(verdictSaid({ met: false, state: "breached" }).word).toBe("Missed");
    expect(verdictSaid({ met: null, state: "no_data" }).word).toBe("No data");
    expect(periodOf(made, NOW)).toBe("October");
    const rolling = { ...made, window: { kind: "rolling", duration: "30d", timezone: "UTC" } };
    expect(plain(periodOf({ ...rolling, window_end: "2026-11-16T10:00:00.000Z" }, NOW))).toBe("30 days to Mon 16 Nov");
  });
  it("knows the common times however they are spaced", () => {
    expect(presetOf(" 0  8 1 * * ")).toBe("0 8 1 * *");
    expect(presetOf("5 8 1 * *")).toBe("own");
  });
});

const as = (role: string, schedules: unknown[], reports: unknown[]) => ({
  "GET /session": { body: { name: role, role } },
  "GET /reports/schedules": { body: { items: schedules, next: null } },
  "GET /reports": { body: { items: reports, next: null } },
  "GET /slos": { body: { items: [], next: null } },
  "GET /channels": { body: { items: [{ id: "c", name: "mail ops", kind: "email", config: { to: ["a@b.c"] } }] } },
  "POST /reports/schedules/check": { body: { upcoming: schedule.upcoming } },
});
const routes = [
  { path: "/reports", element: <ReportsPage /> },
  { path: "/reports/schedules/:id", element: <EditSchedulePage /> },
];

describe("the page of reports", () => {
  it("shows schedules and what they made, with the other side's answer", async () => {
    stubApi(as("editor", [schedule], [made]));
    renderAt("/reports", routes);
    const row = await screen.findByRole("row", { name: /^monthly/ });
    expect(plain(row.textContent ?? "")).toContain("on the 4th of every month at 08:00, Europe/Berlin");
    const report = await screen.findByRole("row", { name: /October/ });
    expect(plain(report.textContent ?? "")).toMatch(/Met\s*99\.951 %/);
    expect(within(report).getByText("550 no such mailbox")).toBeInTheDocument();
    const page = within(report).getByRole("link", { name: "Page of checkout, October" });
    expect(page).toHaveAttribute("href", "/api/v1/reports/m.html");
    await userEvent.setup().click(within(report).getByRole("button", { name: "CSV of checkout, October" }));
    expect(await screen.findByRole("menuitem", { name: "Days" })).toHaveAttribute(
      "href",
      "/api/v1/reports/m.csv?part=days",
    );
    expect(screen.getAllByText(/a@b\.c/).length).toBe(1);
  });
  it("tells a viewer the next step, and shows no action", async () => {
    stubApi(as("viewer", [], []));
    renderAt("/reports", routes);
    expect(await screen.findByText(/An editor can add one here/)).toBeInTheDocument();
    expect(screen.queryByRole("link", { name: "Add a schedule" })).toBeNull();
  });
});

describe("the form of a schedule", () => {
  it("keeps what was typed when somebody saved in between, and shows theirs beside it", async () => {
    let theirs: Record<string, unknown> = schedule;
    const patches: unknown[] = [];
    const answers = {
      ...as("editor", [schedule], []),
      "GET /reports/schedules": () => ({ body: { items: [theirs], next: null } }),
      "PATCH /reports/schedules/r": (body: unknown) => {
        patches.push(body);
        if (patches.length > 1) return { body: schedule };
        theirs = { ...schedule, cron: "0 8 1 * *", revision: 4 };
        return { status: 409, body: { error: { code: "revision", message: "It was changed meanwhile." } } };
      },
    };
    stubApi(answers);
    renderAt("/reports/schedules/r", routes);
    const user = userEvent.setup();
    const name = await screen.findByLabelText(/^Name/);
    await user.clear(name);
    await user.type(name, "monthly for Shop");
    await user.click(screen.getByRole("button", { name: "Save" }));
    const conflict = await screen.findByRole("alert", { name: "Changed by somebody else" });
    expect(within(conflict).getByRole("row", { name: "When 0 8 1 * * 0 8 4 * *" })).toBeInTheDocument();
    expect(name).toHaveValue("monthly for Shop");
    await user.click(within(conflict).getByRole("button", { name: "Save mine over it" }));
    expect(await screen.findByRole("heading", { level: 1, name: /^Next: monthly/ })).toBeInTheDocument();
    expect(patches[1]).toMatchObject({ name: "monthly for Shop", cron: "0 8 4 * *" });
  });
  it("puts a refusal at its field", async () => {
    stubApi({
      ...as("editor", [schedule], []),
      "PATCH /reports/schedules/r": {
        status: 422,
        body: { error: { code: "invalid", message: "is no SLO", field: "slos[0]" } },
      },
    });
    renderAt("/reports/schedules/r", routes);
    await userEvent.setup().click(await screen.findByRole("button", { name: "Save" }));
    expect(await screen.findByText("Is no SLO.")).toBeInTheDocument();
  });
});
