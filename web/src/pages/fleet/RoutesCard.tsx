import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { Empty, Failed, Loading } from "../../components/Status";
import { count, percent, plural } from "../../lib/format";
import { badRoutes, type Column, columnsOf, shareIn } from "./routes";

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
  const shown = [...(routes ?? [])].sort((a, b) => b.attempts - a.attempts).slice(0, 20);
  const columns = columnsOf(routes ?? [], blamed);
  const bad = badRoutes(routes ?? []);
  return (
    <Card
      title="Routes × instances"
      beside={`share of failed attempts, last ${plural(minutes, "minute")}. A bad instance is a column, a bad route is a row.`}
    >
      {!routes && error ? <Failed error={error} retry={retry} /> : null}
      {!routes && !error ? <Loading rows={4} /> : null}
      {routes && routes.length === 0 && <Empty>No request in this span. Sums by route are kept for three hours.</Empty>}
      {shown.length > 0 && (
        <ScrollX label="Routes × instances">
          <table className="grid dense routes">
            <caption className="hidden-visually">Share of failed attempts by route and instance</caption>
            <thead>
              <tr>
                <th scope="col">Route</th>
                {columns.map((column) => (
                  <th scope="col" className="num" key={column.name}>
                    {column.name}
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
              {shown.map((route) => (
                <tr key={route.route}>
                  <th scope="row" className="mono small-weight">
                    {route.route}
                  </th>
                  {columns.map((column) => (
                    <Cell key={column.name} route={route} column={column} bad={bad.has(route.route)} />
                  ))}
                  <td className="num strong">
                    {percent(route.attempts > 0 ? route.errors / route.attempts : null, 1)}
                  </td>
                  <td className="num">{perMinute(route.attempts / Math.max(1, minutes))}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollX>
      )}
    </Card>
  );
}

function Cell({ route, column, bad }: { route: Route; column: Column; bad: boolean }) {
  const share = shareIn(route, column);
  const told = share !== null && share >= 0.01;
  const tint = bad && told ? " strong tint-partial" : column.blamed && told ? " strong tint-down" : " soft";
  return <td className={`num${tint}`}>{percent(share, 0)}</td>;
}

/** Rates below one keep a figure. */
function perMinute(rate: number): string {
  return rate > 0 && rate < 1 ? rate.toFixed(1) : count(rate);
}
