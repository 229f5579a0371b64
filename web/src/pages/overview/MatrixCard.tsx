import { Link } from "react-router";
import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { StateMark } from "../../components/StateMark";
import { count, plural } from "../../lib/format";
import { wordOf } from "../../lib/states";
import { isLoud, matrixOf } from "./matrix";

/** Locations × monitors: a bad target is a column, a bad location is a row. */
export function MatrixCard({
  monitors,
  locations,
}: {
  monitors: readonly Schemas["MonitorRow"][];
  locations: readonly Schemas["Location"][];
}) {
  const matrix = matrixOf(monitors);
  const rows = locations.filter((l) => l.enabled);
  // That a silent location differs everywhere is said elsewhere already.
  const silent = new Set(locations.filter((l) => l.health === "offline" || l.health === "waiting").map((l) => l.name));
  const lone = matrix.onlyDiffers.filter((d) => !silent.has(d.location));
  if (rows.length === 0 || (matrix.columns.length === 0 && lone.length === 0)) return null;
  return (
    <Card title="Locations × monitors" beside="A bad target is a column. A bad location is a row.">
      <div className="scroll-x">
        <table className="grid dense matrix">
          <caption className="hidden-visually">What each location says of each monitor in trouble</caption>
          <thead>
            <tr>
              <th scope="col">Location</th>
              {matrix.columns.map(({ monitor }) => (
                <th scope="col" key={monitor.id} className="slanted">
                  <Link to={`/monitors/${monitor.id}`} className="plain">
                    <StateMark state={monitor.state} label={wordOf(monitor.state)} /> <span>{monitor.name}</span>
                  </Link>
                </th>
              ))}
              {lone.length > 0 && <th scope="col">Alone in it</th>}
              {matrix.agree > 0 && <th scope="col">{count(matrix.agree)}: all agree</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map((location) => {
              const alone = lone.find((d) => d.location === location.name);
              return (
                <tr key={location.id} className={alone ? "strong" : undefined}>
                  <th scope="row">
                    {location.name}{" "}
                    <span className="muted small-weight">{location.region !== location.name && location.region}</span>
                  </th>
                  {matrix.columns.map(({ monitor, cells }) => {
                    const cell = cells.get(location.name);
                    return (
                      <td key={monitor.id} className="cell">
                        {!cell ? (
                          <span className="muted">–</span>
                        ) : isLoud(cell) ? (
                          <StateMark
                            state={cell.counts || cell.vote === "none" ? (cell.vote ?? "none") : "unknown"}
                            label={cell.counts ? wordOf(cell.vote) : "not counted"}
                          />
                        ) : (
                          <svg width="12" height="12" role="img" aria-label="Up">
                            <circle cx="6" cy="6" r="2" fill="var(--up)" />
                          </svg>
                        )}
                      </td>
                    );
                  })}
                  {lone.length > 0 && <td>{alone ? `differs on ${plural(alone.count, "monitor")}` : ""}</td>}
                  {matrix.agree > 0 && (
                    <td>
                      <span className="agree-line" />
                    </td>
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
