import type { Figure } from "./figures";

/** The numbers that a finding stands on, side by side. */
export function Figures({ figures }: { figures: readonly Figure[] }) {
  if (figures.length === 0) return null;
  return (
    <dl className="card figures" aria-label="The finding in numbers">
      {figures.map((figure) => (
        <div key={figure.means}>
          <dt>{figure.means}</dt>
          <dd>{figure.value}</dd>
        </div>
      ))}
    </dl>
  );
}
