import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { renderAt, stubApi } from "../../test-app";
import { HistoryCard } from "./HistoryCard";

const NOW = Date.parse("2026-11-17T03:00:00Z") / 1000;
const locations = [
  { id: "e", name: "eu", health: "online" },
  { id: "u", name: "us", health: "quarantined" },
] as unknown as Schemas["Location"][];

const past = {
  since: "2026-11-17T02:00:00.000Z",
  withheld_from: "2026-11-17T01:59:00.000Z",
  until: "2026-11-17T02:05:30.000Z",
  reason: "3 of 3 references fail",
  released: "clean",
};
const present = { ...past, since: "2026-11-17T02:50:00.000Z", until: null, released: null };

describe("quarantines of the past", () => {
  it("are those of the one that is set aside, unless another is chosen", async () => {
    stubApi({
      "GET /locations/u/quarantines": { body: { items: [present, past], next: null } },
      "GET /locations/e/quarantines": { body: { items: [], next: null } },
    });
    renderAt("/", [{ path: "/", element: <HistoryCard locations={locations} now={NOW} /> }]);
    const table = await screen.findByRole("table", { name: /^Quarantines of us/ });
    const [, first, second] = within(table).getAllByRole("row");
    expect(first).toHaveTextContent(/10\s*min 00\s*s3 of 3 references failit goes on$/);
    expect(second).toHaveTextContent(/5\s*min 30\s*s3 of 3 references failnothing more was found$/);
    await userEvent.selectOptions(screen.getByLabelText("Of which location"), "eu");
    expect(await screen.findByText(/^eu was never quarantined/)).toBeInTheDocument();
  });

  it("say when they cannot be had", async () => {
    stubApi({
      "GET /locations/u/quarantines": { status: 503, body: { error: { code: "unavailable", message: "Away." } } },
    });
    renderAt("/", [{ path: "/", element: <HistoryCard locations={locations} now={NOW} /> }]);
    expect(await screen.findByText(/Away\./)).toBeInTheDocument();
  });
});
