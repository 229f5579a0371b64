import { Fragment } from "react";
import { Link } from "react-router";
import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { Empty } from "../../components/Status";
import { partsOf } from "./words";

/** The parts as the public reads them, and what is behind each, which nobody outside sees. */
export function PartsCard({ page }: { page: Schemas["StatusPage"] }) {
  return (
    <Card title="Parts" beside="names as the public reads them">
      {partsOf(page).length === 0 ? (
        <Empty>No part yet: the page tells nothing but what people write.</Empty>
      ) : (
        <ScrollX label="Parts">
          <table className="grid folds dense">
            <caption className="hidden-visually">Parts in the page's order</caption>
            <thead>
              <tr>
                <th scope="col">Public</th>
                <th scope="col">Behind it, seen in here only</th>
              </tr>
            </thead>
            <tbody>
              {page.groups.map((group) => (
                <Fragment key={group.id}>
                  {group.name !== "" && (
                    <tr className="section">
                      <th scope="rowgroup" colSpan={2}>
                        {group.name}
                      </th>
                    </tr>
                  )}
                  {group.parts.map((part) => (
                    <tr key={part.id}>
                      <th scope="row" className="break">
                        {part.name}
                        {part.description && <span className="small soft small-weight said">{part.description}</span>}
                      </th>
                      <td className="second break">
                        <Behind part={part} />
                      </td>
                    </tr>
                  ))}
                </Fragment>
              ))}
            </tbody>
          </table>
        </ScrollX>
      )}
    </Card>
  );
}

function Behind({ part }: { part: Schemas["StatusPart"] }) {
  if (part.slo)
    return (
      <>
        SLO <Link to={`/slos/${part.slo.id}`}>{part.slo.name}</Link>
      </>
    );
  if (part.monitor)
    return (
      <>
        monitor <Link to={`/monitors/${part.monitor.id}`}>{part.monitor.name}</Link>
      </>
    );
  return <span className="muted">nothing: it was deleted</span>;
}
