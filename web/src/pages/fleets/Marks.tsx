import { StateMark } from "../../components/StateMark";
import { count } from "../../lib/format";

/** Instances as marks: the bad ones first. More than thirty become a number. */
export function InstanceMarks({ of, bad, mark }: { of: number; bad: number; mark: string }) {
  if (of === 0) return null;
  if (of > 30)
    return (
      <span className="row">
        <StateMark state={bad > 0 ? mark : "up"} /> <b>{count(of)}</b>
      </span>
    );
  return (
    <span className="marks" aria-hidden="true">
      {Array.from({ length: of }, (_, i) => (
        <StateMark key={i} state={i < bad ? mark : "up"} size={10} />
      ))}
    </span>
  );
}
