import { percent } from "../../lib/format";
import { place } from "./scale";

const WIDTH = 170;
const HEIGHT = 20;

/**
 * A share of failures with its interval of 99 %, on one axis with where its peers put it: a grey band. Its
 * own interval outside of the band is unlike them; all bands moved is a shared cause. A green tick is the
 * fleet before.
 */
export function IntervalBar(props: {
  share: number | null;
  low: number | null;
  high: number | null;
  band: { low: number; high: number } | null;
  before: number | null;
  end: number;
  blamed: boolean;
}) {
  const { share, low, high, band, before, end, blamed } = props;
  if (share === null || low === null || high === null) return <span className="muted">no attempts</span>;
  const x = (value: number) => 4 + place(value, end) * (WIDTH - 8);
  const ink = blamed ? "var(--down)" : "var(--text)";
  const middle = HEIGHT / 2;
  const label = [
    `${percent(share, 1)}, between ${percent(low, 1)} and ${percent(high, 1)}`,
    band && `its peers put it between ${percent(band.low, 1)} and ${percent(band.high, 1)}`,
    before !== null && `the fleet before ${percent(before, 1)}`,
  ]
    .filter(Boolean)
    .join("; ");
  return (
    <svg
      className="interval"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={label}
      preserveAspectRatio="xMinYMid"
    >
      <path d={`M4 ${middle}H${WIDTH - 4}`} stroke="var(--line)" strokeWidth="2" />
      {band && (
        <rect
          x={x(band.low)}
          y={3}
          width={Math.max(3, x(band.high) - x(band.low))}
          height={HEIGHT - 6}
          fill="var(--text3)"
          opacity="0.32"
        />
      )}
      {before !== null && <path d={`M${x(before)} 2V${HEIGHT - 2}`} stroke="var(--up)" strokeWidth="2" />}
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
