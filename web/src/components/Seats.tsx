import { list } from "../lib/format";
import { markOf, wordOf } from "../lib/states";
import { colour, MarkShape } from "./StateMark";

export interface Seat {
  location: string;
  /** The vote, or why it is not counted (`quarantined`, `unknown`). */
  vote: string;
  counts: boolean;
}

/** Fails first, uncounted last. */
export function seatOrder(seats: readonly Seat[]): Seat[] {
  const order = ["down", "suspect", "slow", "recovering", "up", "pending"];
  const place = (s: Seat) => (s.counts ? order.indexOf(markOf(s.vote)) : 99);
  return [...seats].sort((a, b) => place(a) - place(b) || a.location.localeCompare(b.location));
}

/** One mark per configured location; the bracket spans the number needed. */
export function Seats({ seats, needed, size = 14 }: { seats: readonly Seat[]; needed: number | null; size?: number }) {
  const step = size + 4;
  const sorted = seatOrder(seats);
  const failing = sorted.filter((s) => s.counts && markOf(s.vote) === "down").map((s) => s.location);
  const counted = sorted.filter((s) => s.counts).length;
  const label = [
    `${failing.length} of ${counted} that count fail`,
    needed ? `${needed} needed` : "",
    failing.length > 0 ? `failing: ${list(failing)}` : "",
  ]
    .filter(Boolean)
    .join("; ");
  return (
    <svg
      role="img"
      aria-label={label}
      width={Math.max(1, sorted.length) * step - 4}
      height={needed ? size + 7 : size}
      style={{ flex: "none", overflow: "visible", verticalAlign: "middle" }}
    >
      {sorted.map((seat, i) => (
        <svg
          key={seat.location}
          x={i * step}
          width={size}
          height={size}
          viewBox="0 0 12 12"
          overflow="visible"
          style={{ color: colour(markOf(seat.vote)) }}
        >
          <title>{`${seat.location}: ${wordOf(seat.vote)}${seat.counts ? "" : ", not counted"}`}</title>
          <MarkShape mark={markOf(seat.vote)} />
        </svg>
      ))}
      {needed !== null && needed > 0 && (
        <path
          d={`M0 ${size + 3.5}v2.5H${Math.min(needed, Math.max(sorted.length, needed)) * step - 4}v-2.5`}
          fill="none"
          stroke="var(--text3)"
          strokeWidth="1.2"
        />
      )}
    </svg>
  );
}
