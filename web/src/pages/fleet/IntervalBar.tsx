import { percent } from "../../lib/format";
import { place } from "./scale";

const WIDTH = 220;
const HEIGHT = 20;

/**
 * A share of failures with its interval of 99 %, on one axis with where its peers put it: a grey band up
 * to what they would give. Outside of the band it is unlike them.
 */
export function IntervalBar(props: {
  share: number | null;
  low: number | null;
  high: number | null;
  peers: number | null;
  end: number;
  blamed: boolean;
}) {
  const { share, low, high, peers, end, blamed } = props;
  if (share === null || low === null || high === null) return <span className="muted">no attempts</span>;
  const x = (value: number) => 4 + place(value, end) * (WIDTH - 8);
  const ink = blamed ? "var(--down)" : "var(--text)";
  const middle = HEIGHT / 2;
  const label = `${percent(share, 1)}, between ${percent(low, 1)} and ${percent(high, 1)}${peers === null ? "" : `; its peers ${percent(peers, 1)}`}`;
  return (
    <svg width={WIDTH} height={HEIGHT} role="img" aria-label={label} style={{ display: "block" }}>
      <path d={`M4 ${middle}H${WIDTH - 4}`} stroke="var(--line)" />
      {peers !== null && (
        <rect x={4} y={3} width={Math.max(3, x(peers) - 4)} height={HEIGHT - 6} fill="var(--text3)" opacity="0.3" />
      )}
      <path
        d={`M${x(low)} ${middle}H${x(high)}M${x(low)} ${middle - 4}v8M${x(high)} ${middle - 4}v8`}
        stroke={ink}
        strokeWidth="1.5"
        fill="none"
      />
      {blamed ? (
        <rect x={x(share) - 4} y={middle - 4} width={8} height={8} fill={ink} />
      ) : (
        <circle cx={x(share)} cy={middle} r={3.5} fill={ink} />
      )}
    </svg>
  );
}
