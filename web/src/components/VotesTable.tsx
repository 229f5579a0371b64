import { plural, span } from "../lib/format";
import { markOf } from "../lib/states";
import { AgeBar } from "./AgeBar";
import { seatOrder } from "./Seats";
import { StateWord } from "./StateMark";

/** One location's word on one monitor. */
export interface VoteRow {
  location: string;
  region: string;
  domain: string;
  simulated: boolean;
  /** The vote as folded: up, slow, suspect, down, recovering, none. */
  vote: string;
  /** Length of the present run, what it is made of, and how many make a vote. */
  run: number;
  runOf: "pass" | "fail" | null;
  needed: number | null;
  /** What the last result was, in a few words. */
  saw: string;
  address: string | null;
  age_s: number | null;
  stale_after_s: number;
  counts: boolean;
  /** Why the vote is not counted. */
  why: string | null;
}

/** Values of a column that every failing row has and no passing row has. */
export function sharedByFailing(rows: readonly VoteRow[], pick: (row: VoteRow) => string | null): Set<string> {
  const counted = rows.filter((row) => row.counts);
  const failing = counted.filter((row) => markOf(row.vote) === "down");
  const passing = new Set(counted.filter((row) => ["up", "slow"].includes(markOf(row.vote))).map(pick));
  const values = new Set(failing.map(pick));
  // With nobody passing there is nothing to tell apart.
  if (failing.length < 2 || passing.size === 0) return new Set();
  return new Set([...values].filter((v): v is string => v !== null && values.size === 1 && !passing.has(v)));
}

/** What stands in the column Vote: an uncounted vote shows why it is not counted. */
export function shownVote(row: Pick<VoteRow, "vote" | "counts" | "why" | "age_s" | "stale_after_s">): string {
  if (row.counts || row.vote === "none") return row.vote;
  const why = row.why ?? "";
  if (/quarantin|not believed|distrust/i.test(why)) return "quarantined";
  if (/disabled|switched off/i.test(why)) return "paused";
  return row.age_s === null ? "none" : "unknown";
}

function runText(row: VoteRow): string {
  if (row.run === 0 || row.runOf === null) return "–";
  const text = row.runOf === "fail" ? plural(row.run, "fail") : plural(row.run, "pass", "passes");
  return row.needed !== null && row.run < row.needed ? `${text}, ${row.needed} needed` : text;
}

/** One row per location, fails first: its vote, what it saw, how fresh that is, and whether it counts. */
export function VotesTable({ rows }: { rows: readonly VoteRow[] }) {
  const sorted = seatOrder(rows.map((row) => ({ location: row.location, vote: row.vote, counts: row.counts })))
    .map((seat) => rows.find((row) => row.location === seat.location))
    .filter((row): row is VoteRow => row !== undefined);
  const addresses = sharedByFailing(rows, (row) => row.address);
  const saws = sharedByFailing(rows, (row) => row.saw || null);
  const good = rows[0]?.stale_after_s;
  return (
    <div className="scroll-x">
      <table className="grid folds">
        <caption className="hidden-visually">One vote per location</caption>
        <thead>
          <tr>
            <th scope="col">Location</th>
            <th scope="col">Vote</th>
            <th scope="col">In a row</th>
            <th scope="col">Saw</th>
            <th scope="col">Reached</th>
            <th scope="col">Last result{good ? `, good for ${span(good)}` : ""}</th>
            <th scope="col">Counts</th>
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <tr key={row.location}>
              <th scope="row">
                {row.location}{" "}
                {row.simulated ? (
                  <span className="tag">simulated</span>
                ) : (
                  <span className="muted small-weight">
                    {[row.region, row.domain].filter((v) => v && v !== row.location).join(", ")}
                  </span>
                )}
              </th>
              <td>
                <StateWord state={shownVote(row)} />
              </td>
              <td className="off">{runText(row)}</td>
              <td className="second">
                <span className={saws.has(row.saw) ? "differs" : undefined}>{row.saw || "–"}</span>
              </td>
              <td className="mono off">
                <span className={row.address !== null && addresses.has(row.address) ? "differs" : undefined}>
                  {row.address ?? "–"}
                </span>
              </td>
              <td className="end">
                <AgeBar age={row.age_s} staleAfter={row.stale_after_s} />
              </td>
              <td className={row.counts ? "off" : "second"}>
                {row.counts ? "yes" : `no: ${row.why ?? "its vote is not counted"}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
