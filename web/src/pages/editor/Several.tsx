import { useState } from "react";
import { Link } from "react-router";
import { http, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { StateWord } from "../../components/StateMark";
import { plural } from "../../lib/format";
import { completeUrl, nameFor } from "./address";
import { bodyOf, type Values } from "./values";

type Outcome = { ok: true; monitor: Schemas["Monitor"] } | { ok: false; message: string };

/** Several addresses pasted at once: one row each, with the settings of the form; errors stay at their row. */
export function Several({
  addresses,
  values,
  close,
}: {
  addresses: readonly string[];
  values: Values;
  close: () => void;
}) {
  const [names, setNames] = useState(() => addresses.map(nameFor));
  const [outcomes, setOutcomes] = useState<Record<number, Outcome>>({});
  const [busy, setBusy] = useState(false);
  const left = addresses.filter((_, i) => !outcomes[i]?.ok).length;
  const add = async () => {
    setBusy(true);
    for (const [i, url] of addresses.entries()) {
      if (outcomes[i]?.ok) continue;
      let outcome: Outcome;
      try {
        const answer = await http.POST("/api/v1/monitors", {
          body: bodyOf({ ...values, url: completeUrl(url), name: names[i] ?? "" }),
        });
        if (!answer.data) throw new Error("The answer was empty.");
        outcome = { ok: true, monitor: answer.data };
      } catch (error) {
        outcome = { ok: false, message: problemOf(error).message };
      }
      setOutcomes((before) => ({ ...before, [i]: outcome }));
    }
    setBusy(false);
  };
  return (
    <Card
      title={plural(addresses.length, "address", "addresses")}
      beside="each becomes a monitor with the settings below"
      actions={
        <>
          <Button compact onClick={close}>
            Only one
          </Button>
          {left > 0 ? (
            <Button compact primary busy={busy} onClick={() => void add()}>
              Add {plural(left, "monitor")}
            </Button>
          ) : (
            <Link to="/monitors">To the list</Link>
          )}
        </>
      }
    >
      <table className="grid dense">
        <caption className="hidden-visually">Addresses to add</caption>
        <thead>
          <tr>
            <th scope="col">Address</th>
            <th scope="col">Name</th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {addresses.map((url, i) => {
            const outcome = outcomes[i];
            return (
              <tr key={`${i}${url}`}>
                <td className="mono break">{url}</td>
                <td>
                  <input
                    className="query"
                    aria-label={`Name for ${url}`}
                    value={names[i]}
                    disabled={outcome?.ok}
                    onChange={(event) => setNames(names.map((n, k) => (k === i ? event.currentTarget.value : n)))}
                  />
                </td>
                <td>
                  {outcome?.ok ? (
                    <Link to={`/monitors/${outcome.monitor.id}`}>added</Link>
                  ) : outcome ? (
                    <StateWord state="down" word={outcome.message} />
                  ) : (
                    ""
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Card>
  );
}
