import { Link } from "react-router";
import { api } from "../../api/client";
import { useRole } from "../../api/session";
import { StateWord } from "../../components/StateMark";
import { leftShare, pct, sloMark, sloWord } from "../../lib/slos";

/** The SLOs in which this monitor has a say, the least budget left first. */
export function SlosOf({ id }: { id: string }) {
  const role = useRole();
  const slos = api.useQuery(
    "get",
    "/api/v1/slos",
    { params: { query: { monitor: id, limit: 10 } } },
    { refetchInterval: 30_000 },
  );
  const items = slos.data?.items ?? [];
  if (slos.data && items.length === 0)
    return (
      <>
        none
        {role("editor") && (
          <>
            : <Link to={`/slos/new?monitor=${id}`}>add one</Link>
          </>
        )}
      </>
    );
  return (
    <ul>
      {items.map((slo) => (
        <li key={slo.id} className="row">
          <Link to={`/slos/${slo.id}`}>{slo.name}</Link>
          <StateWord state={sloMark(slo.now?.state)} word={sloWord(slo.now?.state)} />
          <span className="muted">
            {pct(slo.now?.pct)} of {pct(slo.target_pct)}, {leftShare(slo.now?.remaining_ratio)} of the budget left
          </span>
        </li>
      ))}
      {slos.data?.next && (
        <li>
          <Link to={`/slos?monitor=${id}`}>All of them</Link>
        </li>
      )}
    </ul>
  );
}
