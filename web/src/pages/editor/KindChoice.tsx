import { kinds } from "./kinds";

/** What is watched, of a new monitor. */
export function KindChoice({ kind, choose }: { kind: string; choose: (kind: string) => void }) {
  return (
    <fieldset>
      <legend>Kind</legend>
      <div className="choices">
        {kinds.map((one) => (
          <label key={one.kind} className="choice">
            <input
              type="radio"
              name="kind"
              value={one.kind}
              checked={kind === one.kind}
              onChange={() => choose(one.kind)}
            />
            <b>{one.label}</b>
            <span className="muted small"> {one.says}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
