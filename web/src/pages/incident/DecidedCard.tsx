import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { StateWord } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { VotesTable } from "../../components/VotesTable";
import { plural } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { utc, when } from "../../lib/time";
import { againWords, eventWords, firstShown, holdLine, numbers, rowsOf, turnWords } from "./steps";

type Step = Schemas["DecisionStep"];

/** The incident decision by decision: votes, numbers, timers and the sentence, as they were. */
export function DecidedCard({ incident, now }: { incident: Schemas["Incident"]; now: number }) {
  const path = { id: incident.id };
  const list = api.useQuery(
    "get",
    "/api/v1/incidents/{id}/decisions",
    { params: { path, query: { limit: 500 } } },
    { placeholderData: (before) => before },
  );
  const steps = list.data?.items ?? [];
  // Until somebody steps, the opening is shown; a new decision moves nothing under the reader.
  const [chosen, setChosen] = useState<number | null>(null);
  const at = Math.min(chosen ?? firstShown(steps), Math.max(0, steps.length - 1));
  const go = (to: number) => setChosen(Math.max(0, Math.min(steps.length - 1, to)));
  useKeys({ "[": () => go(at - 1), "]": () => go(at + 1) });
  const step = steps[at];
  if (!incident.monitor || incident.kind !== "monitor") return null;
  return (
    <Card
      title="Decided step by step"
      beside={
        steps.length > 0 &&
        `${plural(steps.length, "decision")}${list.data?.next ? " and more" : ""}, rule ${step?.rule}`
      }
      footer={step && againWords(step)}
    >
      {list.isPending && <Loading rows={5} />}
      {list.isError && !list.data && <Failed error={list.error} retry={() => void list.refetch()} />}
      {list.data && steps.length === 0 && (
        <Empty>No decision of this incident is kept any more; they are kept for 90 days.</Empty>
      )}
      {step && (
        <>
          <div className="body stack">
            <div className="row wide">
              <Button compact disabled={at === 0} onClick={() => go(at - 1)}>
                Back
              </Button>
              <input
                type="range"
                className="stepper"
                min={1}
                max={steps.length}
                value={at + 1}
                aria-label="Decision"
                aria-valuetext={`${at + 1} of ${steps.length}, ${when(step.at, now)}: ${step.sentence}`}
                onChange={(event) => go(Number(event.currentTarget.value) - 1)}
              />
              <Button compact disabled={at === steps.length - 1} onClick={() => go(at + 1)}>
                Next
              </Button>
              <span className="muted small" title={utc(step.at)}>
                {at + 1} of {steps.length} · {when(step.at, now)}
              </span>
            </div>
            <Says step={step} />
          </div>
          <VotesTable rows={rowsOf(step)} />
        </>
      )}
    </Card>
  );
}

function Says({ step }: { step: Step }) {
  const hold = holdLine(step);
  const told = eventWords(step);
  return (
    <div className="stack tight" aria-live="polite">
      <div className="row wide">
        <StateWord state={step.state} />
        <span className="muted">{step.changed ? "changed to this" : "stayed so"}</span>
        {told && <b>{told}</b>}
      </div>
      <p>{step.sentence}</p>
      {step.turns.length > 0 && <p className="soft small">{turnWords(step)}</p>}
      {hold && <p className="soft small">{hold}</p>}
      <dl className="facts across">
        {numbers(step).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
