import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { Empty, Failed, Loading } from "../../components/Status";
import { count, percent } from "../../lib/format";

type Route = Schemas["FleetRoute"];

/** Share of failed attempts by route and instance: a bad instance is a column, a bad route a row. */
export function RoutesCard(props: {
  routes: readonly Route[] | undefined;
  error: unknown;
  retry: () => void;
  minutes: number;
  blamed: ReadonlySet<string>;
}) {
  const { routes, error, retry, minutes, blamed } = props;
  const names = [...new Set((routes ?? []).flatMap((r) => r.instances.map((i) => i.instance)))].sort((a, b) =>
    a.localeCompare(b, "en", { numeric: true }),
  );
  const shown = [...(routes ?? [])].sort((a, b) => b.attempts - a.attempts).slice(0, 20);
  return (
    <Card
      title="Routes × instances"
      beside="share of failed attempts. A bad instance is a column, a bad route is a row."
    >
      {!routes && error ? <Failed error={error} retry={retry} /> : null}
      {!routes && !error ? <Loading rows={4} /> : null}
      {routes && routes.length === 0 && <Empty>No request in this span. Sums by route are kept for three hours.</Empty>}
      {shown.length > 0 && (
        <div className="scroll-x">
          <table className="grid dense">
            <caption className="hidden-visually">Share of failed attempts by route and instance</caption>
            <thead>
              <tr>
                <th scope="col">Route</th>
                {names.map((name) => (
                  <th scope="col" className="num" key={name}>
                    {name}
                  </th>
                ))}
                <th scope="col" className="num">
                  All
                </th>
                <th scope="col" className="num">
                  Attempts/min
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((route) => {
                const by = new Map(route.instances.map((i) => [i.instance, i]));
                return (
                  <tr key={route.route}>
                    <th scope="row" className="mono">
                      {route.route}
                    </th>
                    {names.map((name) => {
                      const cell = by.get(name);
                      const share = cell && cell.attempts > 0 ? cell.errors / cell.attempts : null;
                      const bad = blamed.has(name) && share !== null && share > 0;
                      return (
                        <td key={name} className={`num${bad ? " strong tint-down" : " soft"}`}>
                          {percent(share, 0)}
                        </td>
                      );
                    })}
                    <td className="num strong">
                      {percent(route.attempts > 0 ? route.errors / route.attempts : null, 1)}
                    </td>
                    <td className="num">{count(route.attempts / Math.max(1, minutes))}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}
