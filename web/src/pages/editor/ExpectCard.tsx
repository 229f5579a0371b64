import { useQueries } from "@tanstack/react-query";
import { http, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Card } from "../../components/Card";
import { ScrollX } from "../../components/ScrollX";
import { Empty, Failed, Loading } from "../../components/Status";
import { count, duration, list, NONE, odds, plural, span } from "../../lib/format";
import { useSettled } from "../../lib/useSettled";

type Policy = Schemas["PolicySpec"];

interface Row {
  key: string;
  word: string;
  policy: Policy;
  locations: Schemas["Locations"];
  chosen: boolean;
}

/** What the policy costs and gives, worked out by the server for the form as it stands. */
export function ExpectCard(props: {
  interval_s: number;
  timeout_s: number;
  slow_ms: number | null;
  locations: Schemas["Locations"];
  policy: Policy;
  first: string | null;
}) {
  const asked = useSettled(props);
  const preset = asked.policy.preset ?? "balanced";
  const changed = Object.keys(asked.policy).some((key) => key !== "preset");
  const plain = (name: "quick" | "balanced" | "careful", word: string): Row => ({
    key: name,
    word,
    policy: { preset: name },
    locations: asked.locations,
    chosen: !changed && preset === name,
  });
  const rows: Row[] = [
    ...(changed
      ? [
          {
            key: "mine",
            word: `${preset[0]?.toUpperCase()}${preset.slice(1)}, changed`,
            policy: asked.policy,
            locations: asked.locations,
            chosen: true,
          },
        ]
      : []),
    plain("quick", "Quick"),
    plain("balanced", "Balanced"),
    plain("careful", "Careful"),
    ...(asked.first
      ? [{ key: "one", word: "One location, for comparison", policy: {}, locations: [asked.first], chosen: false }]
      : []),
  ];
  const answers = useQueries({
    queries: rows.map((row) => {
      const body = {
        interval_s: asked.interval_s,
        timeout_s: asked.timeout_s,
        slow_ms: asked.slow_ms,
        locations: row.locations,
        policy: row.policy,
      };
      return {
        queryKey: ["odds", body],
        staleTime: 60_000,
        retry: false,
        placeholderData: (before: Schemas["Odds"] | undefined) => before,
        queryFn: async () => (await http.POST("/api/v1/odds", { body })).data,
      };
    }),
  });
  const mine = answers[rows.findIndex((row) => row.chosen)];
  const terms = mine?.data?.terms ?? [];
  const n = mine?.data?.n;
  return (
    <Card
      title="What to expect"
      beside={
        n === undefined
          ? ""
          : `worst cases for ${plural(n, "location")}, every ${span(asked.interval_s)}, giving up after ${span(asked.timeout_s)}; changes as you type`
      }
      footer={terms.length > 0 && <Assumptions terms={terms} notes={mine?.data?.notes ?? []} />}
    >
      {mine?.isError ? (
        problemOf(mine.error).status === 422 ? (
          <Empty>What is set cannot work yet; the form says why.</Empty>
        ) : (
          <Failed error={mine.error} />
        )
      ) : mine?.isPending ? (
        <Loading rows={4} />
      ) : (
        <ScrollX label="What to expect by policy">
          <table className="grid dense">
            <caption className="hidden-visually">Detection, recovery and false alerts by policy</caption>
            <thead>
              <tr>
                <th scope="col">Policy</th>
                <th scope="col" className="num">
                  Full outage
                  <br />
                  seen within
                </th>
                <th scope="col" className="num">
                  Never seen:
                  <br />
                  shorter than
                </th>
                <th scope="col" className="num">
                  Recovery
                  <br />
                  told within
                </th>
                <th scope="col" className="num">
                  False alerts,
                  <br />
                  about
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row, i) => {
                const data = answers[i]?.data;
                return (
                  <tr
                    key={row.key}
                    className={row.chosen ? "chosen strong" : undefined}
                    aria-current={row.chosen || undefined}
                  >
                    <th scope="row" className={row.chosen ? "" : "small-weight"}>
                      {row.word}
                    </th>
                    <td className="num">{duration(data?.detection_worst_s)}</td>
                    <td className="num">
                      {data && data.shortest_outage_s > 0 ? duration(data.shortest_outage_s) : NONE}
                    </td>
                    <td className="num">{duration(data?.recovery_worst_s)}</td>
                    <td className="num">{odds(data?.false_alerts_per_month)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </ScrollX>
      )}
    </Card>
  );
}

/** A term without the location that it stands for: one kind of chance is named once. */
const factor = (term: Schemas["OddsTerm"]) => (term.location ? term.name.replace(/^[^:]+: /, "") : term.name);

/** `measured from 12,300`, `assumed; 3,200 of 10,000 so far` */
function sourceWords(term: Schemas["OddsTerm"]): string {
  if (term.counted == null || term.needed == null) return term.source;
  if (term.source !== "measured") return `assumed; ${count(term.counted)} of ${count(term.needed)} so far`;
  const on = term.measured_on === "location" ? " on all its monitors" : "";
  return `measured from ${count(term.counted)}${on}`;
}

function Assumptions({ terms, notes }: { terms: Schemas["OddsTerm"][]; notes: string[] }) {
  const by = (source: string) => [...new Set(terms.filter((t) => t.source === source).map(factor))];
  const measured = by("measured");
  const assumed = by("assumed");
  return (
    <div className="stack tight">
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
      <details>
        <summary className="small">
          {measured.length > 0 ? `Measured here: ${list(measured)}. ` : ""}
          {assumed.length > 0 ? `Assumed: ${list(assumed)}.` : ""}
        </summary>
        <dl className="facts">
          {terms.map((term) => (
            <div key={`${term.location ?? ""}${term.name}`} style={{ display: "contents" }}>
              <dt>{term.name}</dt>
              <dd>
                {Number(term.value.toPrecision(3))}, {sourceWords(term)}
              </dd>
            </div>
          ))}
        </dl>
      </details>
    </div>
  );
}
