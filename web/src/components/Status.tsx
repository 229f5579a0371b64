import type { ReactNode } from "react";
import { problemOf } from "../api/problem";
import { Button } from "./Button";
import { StateMark } from "./StateMark";

/** Grey rows of the final height, seen after 300 ms. */
export function Loading({ rows = 4, height = 36 }: { rows?: number; height?: number }) {
  return (
    <div role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} style={{ height, padding: `${(height - 12) / 2}px 16px` }}>
          <div className="skeleton" style={{ width: `${72 - ((i * 17) % 40)}%` }} />
        </div>
      ))}
    </div>
  );
}

/** One part failed: the reason, and a way to try again. The rest of the page stands. */
export function Failed({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div className="note" role="alert">
      <StateMark state="unknown" />
      <div>
        {problemOf(error).message}{" "}
        {retry && (
          <Button compact onClick={retry}>
            Try again
          </Button>
        )}
      </div>
    </div>
  );
}

/** Nothing here yet; the children are the next step. */
export function Empty({ children }: { children: ReactNode }) {
  return <div className="empty">{children}</div>;
}

/** A refusal at a form: what, why, way out. */
export function Refusal({ children }: { children: ReactNode }) {
  return (
    <p role="alert" className="refusal">
      <StateMark state="down" />
      <span>{children}</span>
    </p>
  );
}
