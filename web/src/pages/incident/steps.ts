import type { Schemas } from "../../api/client";
import type { VoteRow } from "../../components/VotesTable";
import { list } from "../../lib/format";
import { when } from "../../lib/time";
import { whyWords } from "../monitor/votes";

type Step = Schemas["DecisionStep"];

/** The step that opened it: where a reader begins. */
export function firstShown(steps: readonly Step[]): number {
  const opened = steps.findIndex((step) => step.events.some((event) => /^(suppressed:)?opened/.test(event)));
  return Math.max(0, opened);
}

export function rowsOf(step: Step): VoteRow[] {
  return step.votes.map((vote) => ({
    location: vote.location,
    region: vote.region,
    domain: vote.domain,
    simulated: false,
    vote: vote.vote,
    run: vote.run ?? 0,
    runOf: vote.run_of === "pass" || vote.run_of === "fail" ? vote.run_of : null,
    needed: vote.needed ?? null,
    saw: vote.saw,
    address: vote.address ?? null,
    age_s: vote.age_ms == null ? null : vote.age_ms / 1000,
    stale_after_s: vote.stale_after_s ?? 0,
    counts: vote.counts,
    why: vote.why_not ? (whyWords[vote.why_not] ?? vote.why_not) : null,
  }));
}

const eventNames: Record<string, string> = {
  opened: "incident opened",
  reopened: "incident opened again",
  escalated: "got worse",
  downgraded: "got milder",
  resolved: "incident resolved",
  flap_start: "held open, it flaps",
  blind: "too little evidence",
  blind_end: "evidence again",
};

/** What came of it: `incident opened, nobody told`. */
export function eventWords(step: Step): string {
  return list(
    step.events.map((event) => {
      const silent = event.startsWith("suppressed:");
      const [name = event] = event.replace("suppressed:", "").split(":");
      return `${eventNames[name] ?? name.replaceAll("_", " ")}${silent ? ", nobody told" : ""}`;
    }),
  );
}

/** `eu: up to suspect, us: suspect to down` */
export function turnWords(step: Step): string {
  return step.turns
    .map((turn) => `${turn.location}: ${turn.from === "none" ? "new" : turn.from} to ${turn.to}`)
    .join(", ");
}

export function holdLine(step: Step): string | null {
  const hold = step.hold;
  if (!hold) return null;
  if (hold.paused) return `The wait toward ${hold.toward} stood still: the votes were undecided.`;
  return `Waited since ${when(hold.since)} to become ${hold.toward}, until ${when(hold.until)} if the votes stayed as they were.`;
}

/** The verdict's numbers, each with what it is. */
export function numbers(step: Step): [string, string][] {
  const v = step.verdict;
  return [
    ["Verdict", v.raw.replaceAll("_", " ")],
    ["Count", `${v.e} of ${v.n}, ${v.e_min} must`],
    ["See it down", `${v.d}, ${v.q} needed`],
    ["See it up", String(v.u)],
    ["Networks, regions", `${v.min_domains} and ${v.min_regions} needed`],
  ];
}

export function againWords(step: Step): string {
  switch (step.again) {
    case "same":
      return "Taken again from what is stored with it, the verdict is the same.";
    case "differs":
      return "Taken again from what is stored with it, the verdict is another: the rules have changed since, or a row was damaged.";
    default:
      return "Not all that it rested on is stored: it was decided by an older version, or by hand.";
  }
}
