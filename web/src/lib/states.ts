/** The words, shapes and order of states, votes and health. The API's word comes first. */

/** Everything that has a mark of its own. */
export type Mark =
  | "up"
  | "slow"
  | "partial"
  | "down"
  | "unknown"
  | "pending"
  | "paused"
  | "maintenance"
  | "quarantined"
  | "suspect"
  | "recovering";

const words: Record<Mark, string> = {
  up: "Up",
  slow: "Slow",
  partial: "Partial",
  down: "Down",
  unknown: "Unknown",
  pending: "Pending",
  paused: "Paused",
  maintenance: "Maintenance",
  quarantined: "Quarantined",
  suspect: "Suspect",
  recovering: "Recovering",
};

/** Words of the API that share another's mark. */
const aliases: Record<string, Mark> = {
  degraded: "slow",
  degraded_slow: "slow",
  degraded_intermittent: "slow",
  down_low: "down",
  none: "pending",
  pass: "up",
  fail: "down",
  error: "unknown",
  insufficient: "unknown",
  blind: "unknown",
  undecided: "unknown",
  silent: "unknown",
  offline: "unknown",
  waiting: "pending",
  online: "up",
  believed: "up",
  distrusted: "quarantined",
  divergent: "quarantined",
  impaired: "suspect",
  disabled: "paused",
};

/** The mark for a word of the API; a word not known yet reads as unknown, never as up. */
export function markOf(word: string | null | undefined): Mark {
  if (!word) return "pending";
  if (word in words) return word as Mark;
  return aliases[word] ?? "unknown";
}

/** The word that people read beside the mark. */
export function wordOf(state: string | null | undefined): string {
  switch (state) {
    case "pass":
      return "Pass";
    case "fail":
      return "Fail";
    case "error":
      return "Not judged";
    case "believed":
      return "Believed";
    case "offline":
      return "Offline";
    case "online":
      return "Online";
    case "waiting":
      return "Waiting";
    case "disabled":
      return "Switched off";
    case "distrusted":
      return "Not believed";
    case "impaired":
      return "In doubt";
    case "none":
      return "No vote yet";
    case "silent":
      return "Silent";
    case "divergent":
      return "Set aside";
    default:
      return words[markOf(state)];
  }
}

/** Worst first, for sorting and for the pixel that must show one of several states. */
const severity: Record<Mark, number> = {
  down: 0,
  partial: 1,
  slow: 2,
  suspect: 3,
  unknown: 4,
  recovering: 5,
  quarantined: 6,
  maintenance: 7,
  pending: 8,
  up: 9,
  paused: 10,
};

export function rank(state: string): number {
  return severity[markOf(state)];
}

export function worst(states: readonly string[]): string | null {
  return states.reduce<string | null>((a, b) => (a === null || rank(b) < rank(a) ? b : a), null);
}

/** The states of a monitor in the order of chips. */
export const monitorStates = ["down", "partial", "degraded", "unknown", "pending", "paused", "up"] as const;
