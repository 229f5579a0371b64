import type { ReactNode } from "react";
import { Button } from "./Button";
import { StateMark } from "./StateMark";
import { Loading } from "./Status";

/** One thing that somebody else saved otherwise. */
export interface Difference {
  label: string;
  theirs: ReactNode;
  mine: ReactNode;
}

/**
 * Somebody saved in between: theirs beside yours. What was typed stays in the form above; saving it over
 * theirs is asked for apart.
 */
export function Conflict(props: {
  /** Null while theirs is being read. */
  differences: readonly Difference[] | null;
  overwrite: () => void;
  busy: boolean;
  take: () => void;
}) {
  return (
    <section className="card edged edge-slow" role="alert" aria-label="Changed by somebody else">
      <div className="note">
        <StateMark state="slow" />
        <p>
          <b>Somebody saved this in between.</b> Nothing of yours is lost, and nothing is saved yet.
        </p>
      </div>
      {props.differences === null && <Loading rows={2} />}
      {props.differences?.length === 0 && <p className="body">What they saved is what you have written here.</p>}
      {props.differences !== null && props.differences.length > 0 && (
        <table className="grid dense">
          <caption className="hidden-visually">What differs</caption>
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Theirs</th>
              <th scope="col">Yours</th>
            </tr>
          </thead>
          <tbody>
            {props.differences.map((one) => (
              <tr key={one.label}>
                <th scope="row">{one.label}</th>
                <td className="break">{one.theirs}</td>
                <td className="break">{one.mine}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <div className="actions body">
        <Button onClick={props.overwrite} busy={props.busy}>
          Save mine over it
        </Button>
        <Button onClick={props.take}>Take theirs</Button>
      </div>
    </section>
  );
}
