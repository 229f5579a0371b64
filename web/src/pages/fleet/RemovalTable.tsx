import type { ReactNode } from "react";
import type { Schemas } from "../../api/client";
import { ScrollX } from "../../components/ScrollX";
import { causeWord, sourceWord } from "../../lib/fleets";
import { count, duration, NONE } from "../../lib/format";
import { epoch, utc, when } from "../../lib/time";

type Removal = Schemas["Removal"];

/** Past removals: from the first failure to out, beside what the check needs at least; harm; and back. */
export function RemovalTable({
  removals,
  name = (removal) => removal.instance,
}: {
  removals: readonly Removal[];
  name?: (removal: Removal, index: number) => ReactNode;
}) {
  return (
    <ScrollX label="Removals">
      <table className="grid folds">
        <caption className="hidden-visually">Removals, the latest first</caption>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Instance</th>
            <th scope="col">Cause</th>
            <th scope="col" className="num">
              Failed → out
            </th>
            <th scope="col" className="num">
              At least
            </th>
            <th scope="col" className="num">
              Harmed
            </th>
            <th scope="col" className="num">
              Seen by users
            </th>
            <th scope="col" className="num">
              Back after
            </th>
          </tr>
        </thead>
        <tbody>
          {removals.map((removal, i) => {
            const removed = epoch(removal.removed_at) ?? 0;
            const returned = epoch(removal.returned_at);
            return (
              <tr key={removal.id}>
                <td className="nowrap end" title={utc(removal.removed_at)}>
                  {when(removal.removed_at)}
                </td>
                <th scope="row" className="name">
                  {name(removal, i)}
                </th>
                <td className="second">
                  {causeWord(removal.cause)}
                  {removal.reason && `: ${removal.reason}`}{" "}
                  <span className="muted">({sourceWord(removal.source)})</span>
                </td>
                <td className="num third" title={removal.ttr_ms == null ? undefined : `± ${removal.resolution_ms} ms`}>
                  <span className="phone-only">out after </span>
                  {removal.ttr_ms == null ? NONE : duration(removal.ttr_ms / 1000)}
                </td>
                <td className="num off soft">
                  {removal.minimum_ms == null ? NONE : duration(removal.minimum_ms / 1000)}
                </td>
                <td className="num off">{count(removal.harmed)}</td>
                <td className="num off">
                  {count(removal.client_visible)}
                  {removal.harmed > removal.client_visible &&
                    `, a retry saved ${count(removal.harmed - removal.client_visible)}`}
                </td>
                <td className="num third">
                  <span className="phone-only">· </span>
                  {returned === null ? (
                    "still out"
                  ) : (
                    <>
                      <span className="phone-only">back after </span>
                      {duration(returned - removed)}
                    </>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollX>
  );
}
