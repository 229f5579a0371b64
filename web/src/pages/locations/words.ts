import type { Schemas } from "../../api/client";
import { list, plural } from "../../lib/format";
import { duration } from "../../lib/format";
import { epoch } from "../../lib/time";

type Location = Schemas["Location"];

/** The sentence of the locations page: whom not to believe. */
export function locationsSentence(locations: readonly Location[], now: number): string {
  const on = locations.filter((l) => l.enabled);
  if (on.length === 0)
    return locations.length === 0
      ? "No location yet, so nothing can be seen."
      : "Every location is switched off, so nothing can be seen.";
  const aside = on.filter((l) => l.health === "quarantined" || l.health === "distrusted");
  const doubted = on.filter((l) => l.health === "impaired" && l.trust == null);
  if (doubted.length > 0)
    return `Nobody is quarantined: ${list(doubted.map((l) => l.name))} ${doubted.length === 1 ? "is" : "are"} in doubt, more than may be set aside.`;
  if (aside.length === 1 && aside[0]) {
    const one = aside[0];
    if (one.health === "distrusted") return `${one.name} is not believed, by hand: its votes do not count.`;
    return `${one.name} is quarantined, so its votes do not count: ${one.doubt?.reasons[0] ?? "it was in doubt before"}.`;
  }
  if (aside.length > 1) return `${list(aside.map((l) => l.name))} are not believed: their votes do not count.`;
  const offline = on.filter((l) => l.health === "offline");
  const waiting = on.filter((l) => l.health === "waiting");
  const online = on.filter((l) => l.health === "online" || l.health === "impaired");
  if (offline.length === 1 && offline[0]) {
    const since = epoch(offline[0].health_since);
    return `${offline[0].name} is silent${since === null ? "" : ` for ${duration(now - since)}`}; ${plural(online.length, "other")} report.`;
  }
  if (offline.length > 1)
    return `${list(offline.map((l) => l.name))} are silent; ${plural(online.length, "other")} report.`;
  if (waiting.length > 0)
    return `${list(waiting.map((l) => l.name))} ${waiting.length === 1 ? "waits" : "wait"} for a first agent; ${plural(online.length, "location")} report.`;
  const regions = new Set(on.map((l) => l.region)).size;
  const domains = new Set(on.filter((l) => !l.simulated).map((l) => l.domain)).size;
  if (domains === 0)
    return `${on.length === 1 ? "One simulated location reports" : `${plural(on.length, "simulated location")} report`} from this machine's line.`;
  return `${plural(on.length, "location")} report, in ${plural(regions, "region")} and ${plural(domains, "network")}.`;
}

/** What the simulated ones are worth. */
export function simulatedNote(locations: readonly Location[]): string | null {
  const names = locations.filter((l) => l.simulated && l.enabled).map((l) => l.name);
  if (names.length === 0) return null;
  return `${list(names)} ${names.length === 1 ? "is" : "are"} simulated: the answers are real, but they share this machine's line. If that breaks, all of them see everything fail at once.`;
}

/** Why everybody counts although some are in doubt; null while that is not so. */
export function overCap(locations: readonly Location[]): string | null {
  const on = locations.filter((l) => l.enabled && l.agents.some((a) => a.online));
  const doubted = on.filter((l) => l.health === "impaired" && l.trust == null);
  if (doubted.length === 0) return null;
  const cap = Math.max(0, Math.floor((on.length - 1) / 2));
  const most = cap === 0 ? "none" : `at most ${cap}`;
  return `Of ${plural(on.length, "location")} online ${most} may be set aside, so that a mistake cannot silence everybody. Until fewer are in doubt all of them count, and verdicts are marked as low confidence.`;
}

/** Where single votes are set aside though the location is believed; null when nowhere. */
export function divergentNote(locations: readonly Location[], now: number): string | null {
  const parts = locations.flatMap((l) =>
    l.divergent.map((one) => {
      const since = epoch(one.since);
      return `${l.name} disagrees alone on ${one.name}${since === null ? "" : `; its vote there is set aside for ${duration(now - since)}`}`;
    }),
  );
  return parts.length === 0 ? null : `${parts.join(". ")}. Each returns once it agrees, and votes everywhere else.`;
}

/** When anything was last heard from a location, in seconds, or null. */
export function lastHeard(location: Location): number | null {
  const times = location.agents.map((a) => epoch(a.last_seen_at)).filter((t): t is number => t !== null);
  return times.length > 0 ? Math.max(...times) : null;
}

/** The clock offset furthest from zero among the agents. */
export function worstClock(location: Location): number | null {
  const offsets = location.agents.map((a) => a.clock_offset_ms).filter((o): o is number => o != null);
  return offsets.sort((a, b) => Math.abs(b) - Math.abs(a))[0] ?? null;
}

/** How a quarantine ended, in words. */
export function endedWords(one: Pick<Schemas["Quarantine"], "until" | "released">): string {
  if (!one.until) return "it goes on";
  const words: Record<string, string> = {
    clean: "nothing more was found",
    over_cap: "too many locations were in doubt",
    believed: "somebody said to believe it",
    disabled: "it was switched off",
  };
  return words[one.released ?? ""] ?? "it ended";
}

/** What it means that locations are under review; null while none is. */
export function reviewNote(locations: readonly Location[]): string | null {
  const names = locations.filter((l) => l.review_since != null).map((l) => l.name);
  if (names.length === 0) return null;
  const one = names.length === 1;
  return `${list(names)} ${one ? "is" : "are"} under review: many monitors began to fail at once, so ${one ? "its" : "their"} own network is checked anew.`;
}
