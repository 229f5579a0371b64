import type { Schemas } from "../../api/client";
import type { Seat } from "../../components/Seats";
import { shownVote, type VoteRow } from "../../components/VotesTable";
import { list } from "../../lib/format";
import { epoch, when } from "../../lib/time";

type Report = Schemas["StateReport"];
type Vote = Schemas["Vote"];

export const whyWords: Record<string, string> = {
  no_result: "no result yet",
  stale: "too old",
  disabled: "the location is switched off",
  quarantined: "the location is quarantined",
  distrusted: "the location is not believed, by hand",
  divergent: "it alone disagrees here, for a day",
};

/** Why a vote is not counted, with the moment when it went stale. */
export function whyNot(vote: Vote): string | null {
  if (!vote.why_not) return null;
  const words = whyWords[vote.why_not] ?? vote.why_not;
  const at = epoch(vote.at);
  return vote.why_not === "stale" && at !== null ? `${words} since ${when(at + vote.stale_after_s)}` : words;
}

/** The report's votes as rows; ages go on counting between two answers. */
export function voteRows(report: Report, now: number): VoteRow[] {
  const lag = Math.max(0, now - (epoch(report.now) ?? now));
  return report.votes.map((vote) => {
    const age_s = vote.age_ms == null ? null : vote.age_ms / 1000 + lag;
    // Ages go on counting while the link is lost; a vote that has gone stale since is not shown as good.
    const stale = vote.counts && age_s !== null && age_s > vote.stale_after_s;
    return {
      location: vote.location.name,
      region: vote.location.region,
      domain: vote.location.domain,
      simulated: vote.location.simulated,
      vote: vote.vote,
      run: vote.run?.count ?? 0,
      runOf: vote.run?.outcome === "pass" || vote.run?.outcome === "fail" ? vote.run.outcome : null,
      needed: vote.run?.needed ?? null,
      saw: vote.saw,
      address: vote.address ?? null,
      age_s,
      stale_after_s: vote.stale_after_s,
      counts: vote.counts && !stale,
      why: stale ? "too old by now" : whyNot(vote),
    };
  });
}

export function seatsOf(rows: readonly VoteRow[]): Seat[] {
  return rows.map((row) => ({ location: row.location, vote: shownVote(row), counts: row.counts }));
}

/** `4 fail · 1 passes · 1 not counted · 3 needed · 5 of 6 count, 4 must` */
export function tally(report: Report): string[] {
  const passing = report.votes.filter((v) => v.counts && (v.vote === "up" || v.vote === "slow")).length;
  const other = report.e - report.d - passing;
  const uncounted = report.n - report.e;
  return [
    `${report.d} ${report.d === 1 ? "fails" : "fail"}`,
    `${passing} ${passing === 1 ? "passes" : "pass"}`,
    ...(other > 0 ? [`${other} in between`] : []),
    ...(uncounted > 0 ? [`${uncounted} not counted`] : []),
    `${report.q} needed`,
    `${report.e} of ${report.n} count, ${report.e_min} must`,
  ];
}

/** What the failing ones share, as a line under the votes. */
export function scopeWords(scope: Report["scope"]): string | null {
  if (!scope) return null;
  const values = list(scope.values);
  switch (scope.kind) {
    case "global":
      return "Scope: everywhere. Nothing tells the failing locations from the others.";
    case "edge":
      return `Scope: one edge. Every failing location shares ${scope.attribute ?? "one value"} ${values}; no passing one does.`;
    case "region":
      return `Scope: ${values}. Only locations in ${scope.values.length === 1 ? "this region" : "these regions"} fail.`;
    case "domain":
      return `Scope: one network, ${values}. It may be that network and not the target.`;
    case "split":
      return "Scope: split. Failing and passing locations have nothing in common.";
    default:
      return `Scope: ${scope.kind}${values ? `, ${values}` : ""}.`;
  }
}

/** What is about to change and when, if it holds. */
export function holdWords(hold: Report["hold"], now: number): string | null {
  if (!hold) return null;
  const until = epoch(hold.until);
  if (hold.paused)
    return `The votes pointed to ${hold.toward}, and do not at the moment; the wait goes on when they do again.`;
  if (until === null) return null;
  return until > now
    ? `Becomes ${hold.toward} at ${when(until)} if the votes stay as they are.`
    : `About to become ${hold.toward}.`;
}
