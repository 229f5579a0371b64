import { useMemo } from "react";
import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { LatencyChart } from "../../components/LatencyChart";
import { Empty, Failed, Loading } from "../../components/Status";
import { useTwin } from "../../components/Twin";
import { count, micros, span } from "../../lib/format";
import type { Point, Series } from "../../lib/series";
import { epoch, utc, when } from "../../lib/time";
import { useUrlState } from "../../lib/useUrlState";

const points = (list: readonly Schemas["Point"][]): Point[] =>
  list.map((p) => ({
    at: epoch(p.at) ?? 0,
    p50: p.p50_us == null ? null : p.p50_us / 1000,
    p95: p.p95_us == null ? null : p.p95_us / 1000,
    passes: p.passes,
    fails: p.fails,
  }));

interface Props {
  series: Schemas["Series"] | undefined;
  error: unknown;
  retry: () => void;
  from: number;
  to: number;
  zoom: (from: number, to: number) => void;
}

/** Latency by location; which one is shown lives in the address. */
export function LatencyCard({ series, error, retry, from, to, zoom }: Props) {
  const [chosen, choose] = useUrlState("location", "");
  const twin = useTwin();
  const shown: Series[] = useMemo(() => {
    if (!series) return [];
    const all = series.locations.map((l) => ({ name: l.name, points: points(l.points) }));
    if (chosen === "together") return [{ name: "all locations", points: points(series.all) }];
    return chosen === "" ? all : all.filter((s) => s.name === chosen);
  }, [series, chosen]);
  const empty = shown.every((s) => s.points.length === 0);
  return (
    <Card
      title="Latency"
      beside={
        series && `of passes, ${span(series.step_s)} a point${series.source === "rollup" ? ", from quarter hours" : ""}`
      }
      actions={
        <>
          {series && series.locations.length > 1 && (
            <span className="row" role="group" aria-label="Location">
              <button
                type="button"
                className="button compact"
                aria-pressed={chosen === ""}
                onClick={() => choose("", true)}
              >
                Each
              </button>
              <button
                type="button"
                className="button compact"
                aria-pressed={chosen === "together"}
                onClick={() => choose("together", true)}
              >
                Together
              </button>
              {series.locations.map((l) => (
                <button
                  key={l.location}
                  type="button"
                  className="button compact"
                  aria-pressed={chosen === l.name}
                  onClick={() => choose(l.name, true)}
                >
                  {l.name}
                </button>
              ))}
            </span>
          )}
          {twin.button}
        </>
      }
    >
      {!series && error ? <Failed error={error} retry={retry} /> : null}
      {!series && !error ? <Loading rows={5} /> : null}
      {series && empty && <Empty>No result in this span.</Empty>}
      {series &&
        !empty &&
        (twin.asTable ? (
          <SeriesTable series={shown} />
        ) : (
          <div className="chart-pad">
            <LatencyChart series={shown} from={from} to={to} step={series.step_s} onZoom={zoom} />
          </div>
        ))}
    </Card>
  );
}

function SeriesTable({ series }: { series: readonly Series[] }) {
  const rows = series
    .flatMap((s) => s.points.map((p) => ({ name: s.name, ...p })))
    .sort((a, b) => b.at - a.at || a.name.localeCompare(b.name));
  return (
    <div className="scroll-x" style={{ maxHeight: 420, overflowY: "auto" }}>
      <table className="grid dense">
        <caption className="hidden-visually">Latency and counts by step, the latest first</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">Location</th>
            <th scope="col" className="num">
              p50
            </th>
            <th scope="col" className="num">
              p95
            </th>
            <th scope="col" className="num">
              Passes
            </th>
            <th scope="col" className="num">
              Fails
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, 1000).map((row) => (
            <tr key={`${row.at}${row.name}`}>
              <td className="nowrap" title={utc(row.at)}>
                {when(row.at)}
              </td>
              <td>{row.name}</td>
              <td className="num">{micros(row.p50 === null ? null : row.p50 * 1000)}</td>
              <td className="num">{micros(row.p95 === null ? null : row.p95 * 1000)}</td>
              <td className="num">{count(row.passes)}</td>
              <td className="num">{count(row.fails)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
