import type { Schemas } from "../../api/client";
import type { Lane } from "../../components/Timeline";
import { duration, list, NONE, plural } from "../../lib/format";
import { epoch } from "../../lib/time";

type Replay = Schemas["Replay"];
type ReplayLane = Schemas["ReplayLane"];
type Incident = Schemas["ReplayIncident"];

/** What is asked of a replay beside its span; it stands in the address. */
export interface Asked {
  policy: Schemas["PolicySpec"];
  without: string[];
  maintenance: boolean;
  quarantine: boolean;
}

export function writeAsked(asked: Asked): string {
  return JSON.stringify(asked);
}

/** What stands in the address, or null when it is none. */
export function readAsked(text: string): Asked | null {
  if (text === "") return null;
  try {
    const raw = JSON.parse(text) as Partial<Asked> | null;
    if (typeof raw !== "object" || raw === null || typeof raw.policy !== "object" || raw.policy === null) return null;
    const without = Array.isArray(raw.without) ? raw.without.filter((id) => typeof id === "string") : [];
    return {
      policy: raw.policy,
      without,
      maintenance: raw.maintenance !== false,
      quarantine: raw.quarantine !== false,
    };
  } catch {
    return null;
  }
}

export function bodyOf(asked: Asked, from: number, to: number): Schemas["ReplayOf"] {
  const iso = (at: number) => new Date(at * 1000).toISOString();
  return {
    from: iso(from),
    to: iso(to),
    policy: asked.policy,
    overrides: {
      exclude_locations: asked.without,
      maintenance: asked.maintenance ? "as_it_was" : "ignored",
      quarantine: asked.quarantine ? "as_it_was" : "ignored",
    },
  };
}

const presets: Record<string, string> = { quick: "Quick", balanced: "Balanced", careful: "Careful" };

/** `Balanced`, `Balanced, changed` */
export function policyWord(policy: Schemas["PolicySpec"]): string {
  const preset = presets[policy.preset ?? "balanced"] ?? "Balanced";
  const changed = Object.entries(policy).some(([key, value]) => {
    if (key === "preset" || value === null || value === undefined) return false;
    return key !== "quorum" || (value as Schemas["QuorumSpec"]).mode !== "majority";
  });
  return changed ? `${preset}, changed` : preset;
}

export function laneWord(lane: ReplayLane): { name: string; about: string } {
  switch (lane.key) {
    case "real":
      return { name: "Real", about: "what happened" };
    case "present":
      return { name: "In use", about: lane.policy ? policyWord(lane.policy) : "" };
    case "tried":
      return { name: "Tried", about: lane.policy ? policyWord(lane.policy) : "" };
    default:
      return { name: "Any one", about: "for scale" };
  }
}

export function laneOf(replay: Replay, key: ReplayLane["key"]): ReplayLane | undefined {
  return replay.lanes.find((lane) => lane.key === key);
}

const shown = (incident: Incident) => (incident.suppressed ? "maintenance" : incident.peak);

/** The lanes on one axis; what one misses that another tells is dashed. */
export function lanes(replay: Replay): Lane[] {
  return replay.lanes.map((lane, index) => ({
    ...laneWord(lane),
    intervals: lane.incidents.map((one) => ({
      from: one.started_at,
      to: one.ended_at ?? null,
      state: shown(one),
      low: one.low,
    })),
    dashed: lane.key === "any_one" ? [] : missedBy(replay, index),
  }));
}

/** Spans of troubles that what happened or the tried policy tells, and this lane does not. */
function missedBy(replay: Replay, index: number): { from: string; to: string | null }[] {
  return replay.troubles
    .filter((trouble) => heard(replay, trouble, index).length === 0)
    .filter((trouble) => replay.lanes.some((_, other) => heard(replay, trouble, other).length > 0))
    .map((trouble) => ({ from: trouble.from, to: trouble.to ?? null }));
}

/** A lane's incidents of a trouble that people hear of. */
export function heard(replay: Replay, trouble: Schemas["ReplayTrouble"], index: number): Incident[] {
  const incidents = replay.lanes[index]?.incidents ?? [];
  return (trouble.incidents[index] ?? [])
    .map((at) => incidents[at])
    .filter((one): one is Incident => one !== undefined && !one.suppressed);
}

/** What a lane makes of a trouble: `told after 9 s`, `told 2 times, first after 9 s`, `not told`. */
export function toldWords(replay: Replay, trouble: Schemas["ReplayTrouble"], index: number): string {
  const told = heard(replay, trouble, index);
  const all = trouble.incidents[index]?.length ?? 0;
  if (told.length === 0) return all > 0 ? "kept silent by maintenance" : "not told";
  const first = told[0];
  const times = told.length > 1 ? `told ${plural(told.length, "time")}, first ` : "told ";
  if (first?.delay_ms == null) return `${times}before this span`;
  return `${times}after ${duration(first.delay_ms / 1000)}`;
}

export function delayWords(ms: number | null | undefined): string {
  return ms == null ? NONE : duration(ms / 1000);
}

/** The sentence of a replay: what the tried policy makes different. */
export function verdict(replay: Replay): string {
  const real = laneOf(replay, "real");
  const tried = laneOf(replay, "tried");
  if (!real || !tried) return "";
  if (replay.results === 0) return "There is no result in this span to replay.";
  if (real.incidents.length === 0 && tried.incidents.length === 0)
    return "Nothing was opened in this span, and this policy would have opened nothing either.";
  const parts = [
    tried.sums.missed > 0 &&
      `misses ${plural(tried.sums.missed, "trouble")} that were told`.replace(
        /(\b1\u00a0trouble) that were/,
        "$1 that was",
      ),
    tried.sums.alone > 0 && `opens ${count(tried.sums.alone, "more", "more")}`,
    later(replay),
  ].filter((part): part is string => typeof part === "string");
  return parts.length === 0 ? "This policy would have told the same, as soon." : `This policy ${list(parts)}.`;
}

const count = (n: number, one: string, many: string) => plural(n, one, many);

/** How much later or sooner, over the troubles that both tell: the middle one. */
function later(replay: Replay): string | false {
  const [real, tried] = [indexOf(replay, "real"), indexOf(replay, "tried")];
  const differences = replay.troubles
    .map((trouble) => {
      const [before, after] = [heard(replay, trouble, real)[0]?.delay_ms, heard(replay, trouble, tried)[0]?.delay_ms];
      return before == null || after == null ? null : after - before;
    })
    .filter((difference): difference is number => difference !== null)
    .sort((a, b) => a - b);
  const by = Math.round((differences[Math.floor((differences.length - 1) / 2)] ?? 0) / 1000);
  if (Math.abs(by) < 2) return false;
  return by > 0 ? `tells ${duration(by)} later` : `tells ${duration(-by)} sooner`;
}

const indexOf = (replay: Replay, key: ReplayLane["key"]) => replay.lanes.findIndex((lane) => lane.key === key);

/** How long a trouble lasted, or that it goes on. */
export function lasted(trouble: Schemas["ReplayTrouble"], to: string): string {
  const end = epoch(trouble.to ?? to) ?? 0;
  const words = duration(end - (epoch(trouble.from) ?? end));
  return trouble.to ? words : `${words}, and on`;
}
