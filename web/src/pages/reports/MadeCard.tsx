import { Menu } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { http, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { StateWord } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { pct } from "../../lib/slos";
import { useNow } from "../../lib/ticker";
import { ago, utc } from "../../lib/time";
import { deliverySaid, periodOf, verdictSaid } from "./words";

type Made = Schemas["MadeReport"];

/** Reports that schedules made, the latest first: the figures stay as they were sent. */
export function MadeCard({ next }: { next: string | null }) {
  const reports = useInfiniteQuery({
    queryKey: ["get", "/api/v1/reports"],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }): Promise<Schemas["List_MadeReport"]> => {
      const query = { limit: 50, cursor: pageParam };
      return (await http.GET("/api/v1/reports", { params: { query } })).data ?? { items: [], next: null };
    },
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const items = reports.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Card
      title="Made reports"
      beside={items.length > 0 && "the latest first; they stay as they were sent"}
      footer={
        reports.hasNextPage ? (
          <Button compact busy={reports.isFetchingNextPage} onClick={() => void reports.fetchNextPage()}>
            Show more
          </Button>
        ) : (
          items.length > 0 && <PrintHint />
        )
      }
    >
      {reports.isPending && <Loading rows={3} />}
      {reports.isError && <Failed error={reports.error} retry={() => void reports.refetch()} />}
      {reports.data && items.length === 0 && (
        <Empty>
          {next === null
            ? "None yet. A schedule makes them and sends them; below, any report can be opened at once."
            : `None yet. The first comes ${next}; “Send now” makes one at once.`}
        </Empty>
      )}
      {items.length > 0 && <MadeTable items={items} />}
    </Card>
  );
}

/** How a report becomes a PDF. */
export function PrintHint() {
  return (
    <>
      For a PDF open the page and print it (Ctrl P, “Save as PDF”): it is set for A4 and needs no colour. The hash is
      over the canonical JSON; the page says how to work the figures out again.
    </>
  );
}

function MadeTable({ items }: { items: readonly Made[] }) {
  return (
    <ScrollX label="Made reports">
      <table className="grid folds made">
        <caption className="hidden-visually">Made reports, the latest first</caption>
        <thead>
          <tr>
            <th scope="col">Period</th>
            <th scope="col">SLO</th>
            <th scope="col">Verdict</th>
            <th scope="col" className="num">
              Achieved
            </th>
            <th scope="col" className="num">
              Objective
            </th>
            <th scope="col">Revision</th>
            <th scope="col">Made</th>
            <th scope="col">Delivery</th>
            <th scope="col">Report</th>
          </tr>
        </thead>
        <tbody>
          {items.map((one) => (
            <Row key={one.id} made={one} />
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

function Row({ made }: { made: Made }) {
  const now = useNow();
  const period = periodOf(made, now);
  const verdict = verdictSaid(made);
  const sent = deliverySaid(made.outcome);
  return (
    <tr className={made.met === false ? "edged edge-down" : undefined}>
      <th scope="row" className="nowrap" title={`${utc(made.window_start)} – ${utc(made.window_end)}`}>
        {period}
      </th>
      <td className="break">
        <Link to={`/slos/${made.slo.id}`}>{made.slo.name}</Link>
      </td>
      <td className="end">
        <StateWord state={verdict.mark} word={verdict.word} />
      </td>
      <td className={`num off${made.met === false ? " strong" : ""}`}>{pct(made.pct)}</td>
      <td className="num off">{pct(made.target_pct)}</td>
      <td className="off nowrap">{made.revision ?? <span className="muted">as it stood</span>}</td>
      <td className="second">
        <span className="phone-only">
          {pct(made.pct)} of {pct(made.target_pct)},{" "}
        </span>
        <span title={utc(made.made_at)}>{ago(made.made_at, now)}</span>{" "}
        <span className="muted">by {made.schedule_name}</span>
      </td>
      <td className="second half">
        <StateWord state={sent.mark} word={sent.word} />
        {made.answer && made.outcome !== "delivered" && <span className="small soft break said">{made.answer}</span>}
      </td>
      <td className="second half files-cell">
        <Files base={`/api/v1/reports/${made.id}`} query="" of={`${made.slo.name}, ${period}`} json=".json" />
      </td>
    </tr>
  );
}

const tables = [
  ["summary", "Summary"],
  ["incidents", "Incidents"],
  ["days", "Days"],
  ["locations", "Locations"],
  ["maintenance", "Maintenance"],
] as const;

/** A report as a page that prints, as data, and as tables. */
export function Files(props: {
  base: string;
  /** Without its question mark; may be empty. */
  query: string;
  of: string;
  /** The end of the address of the JSON. */
  json: string;
  page?: boolean;
}) {
  const { base, query, of, json, page = true } = props;
  const address = (suffix: string, more = "") => {
    const all = [query, more].filter((part) => part !== "").join("&");
    return `${base}${suffix}${all === "" ? "" : `?${all}`}`;
  };
  const link = (word: string, suffix: string) => (
    <a href={address(suffix)} target="_blank" rel="noreferrer" aria-label={`${word} of ${of}`}>
      {word}
    </a>
  );
  return (
    <span className="files">
      {page && link("Page", ".html")}
      {link("JSON", json)}
      <Menu position="bottom-end">
        <Menu.Target>
          <button type="button" className="link" aria-label={`CSV of ${of}`}>
            CSV…
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          {tables.map(([part, word]) => (
            <Menu.Item key={part} component="a" href={address(".csv", part === "summary" ? "" : `part=${part}`)}>
              {word}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </span>
  );
}
