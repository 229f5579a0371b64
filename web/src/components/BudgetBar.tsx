import { amount, leftShare } from "../lib/slos";

/** What is left of a budget: a bar in ink, the share, and the amount. Overspent is an empty bar and a minus. */
export function BudgetBar(props: { ratio: number | null | undefined; left: number | null | undefined; unit: string }) {
  const { ratio, left, unit } = props;
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
