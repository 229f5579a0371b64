import { type ReactNode, useState } from "react";

/** The button and the state behind "As a table": every chart has a table with the same content. */
export function useTwin(): { asTable: boolean; button: ReactNode } {
  const [asTable, setAsTable] = useState(false);
  return {
    asTable,
    button: (
      <button type="button" className="link small" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
        {asTable ? "As a chart" : "As a table"}
      </button>
    ),
  };
}
