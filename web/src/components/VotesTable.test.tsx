import { render, screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { Seats, seatOrder } from "./Seats";
import { sharedByFailing, type VoteRow, VotesTable } from "./VotesTable";

const row = (location: string, vote: string, address: string, more: Partial<VoteRow> = {}): VoteRow => ({
  location,
  region: "eu",
  domain: "net",
  simulated: false,
  vote,
  run: 3,
  runOf: vote === "down" ? "fail" : "pass",
  needed: 2,
  saw: vote === "down" ? "HTTP 503" : "HTTP 200",
  address,
  age_s: 6,
  stale_after_s: 150,
  counts: true,
  why: null,
  ...more,
});

const rows = [
  row("sjc", "up", "203.0.113.74"),
  row("fra", "down", "203.0.113.10"),
  row("ams", "down", "203.0.113.10"),
  row("syd", "down", "203.0.113.74", { counts: false, why: "quarantined since 02:41" }),
];

describe("the votes table", () => {
  it("marks what failing rows share and passing ones lack, leaving uncounted rows out", () => {
    expect([...sharedByFailing(rows, (r) => r.address)]).toEqual(["203.0.113.10"]);
    expect(
      sharedByFailing(
        rows.filter((r) => r.vote === "down"),
        (r) => r.address,
      ).size,
    ).toBe(0);
    expect(sharedByFailing([...rows, row("iad", "up", "203.0.113.10")], (r) => r.address).size).toBe(0);
  });
  it("puts fails first and uncounted rows last, each with its reason", () => {
    render(<VotesTable rows={rows} />);
    const body = screen.getAllByRole("row").slice(1);
    expect(body.map((r) => within(r).getByRole("rowheader").textContent?.split(" ")[0])).toEqual([
      "ams",
      "fra",
      "sjc",
      "syd",
    ]);
    const last = body[3];
    if (!last) throw new Error("a row is missing");
    expect(within(last).getByText("Quarantined")).toBeInTheDocument();
    expect(within(last).getByText("no: quarantined since 02:41")).toBeInTheDocument();
  });
});

describe("seats", () => {
  it("are said as well as shown", () => {
    render(<Seats seats={rows} needed={2} />);
    expect(screen.getByRole("img").getAttribute("aria-label")).toBe(
      "2 of 3 that count fail; 2 needed; failing: ams and fra",
    );
    expect(seatOrder(rows).map((s) => s.location)).toEqual(["ams", "fra", "sjc", "syd"]);
  });
});
