import { amount, leftShare } from "../lib/slos";

/**
 * What is left of a budget: a bar in ink, the share, and the amount. Overspent is an empty bar and a minus;
 * without enough data it is hatched, and nothing is claimed.
 */
export function BudgetBar(props: {
  state: string | null | undefined;
  ratio: number | null | undefined;
  left: number | null | undefined;
  unit: string;
}) {
  const { state, left, unit } = props;
  const ratio = state === "no_data" ? null : props.ratio;
  const known = ratio !== null && ratio !== undefined;
  const width = Math.max(0, Math.min(1, ratio ?? 0)) * 100;
  return (
    <span className="budget-bar">
      <svg width="84" height="10" aria-hidden="true">
        <rect
          x="0.5"
          y="0.5"
          width="83"
          height="9"
          fill={known ? "var(--sunken)" : "url(#hatch-unknown)"}
          stroke="var(--line)"
        />
        {width > 0 && <rect x="0" y="0" width={`${width}%`} height="10" fill="var(--text2)" />}
      </svg>
      <b className="share">{leftShare(ratio)}</b>
      {known && <span className="muted amount">{amount(left, unit)}</span>}
    </span>
  );
}
