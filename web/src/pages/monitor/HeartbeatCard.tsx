import { useQueryClient } from "@tanstack/react-query";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { Copy } from "../../components/Copy";
import { Failed, Loading } from "../../components/Status";
import { duration } from "../../lib/format";
import { tell, tellProblem } from "../../lib/tell";
import { ago, epoch, utc, when } from "../../lib/time";
import { callLines, callWord } from "./job";

/** How the job stands, in place of votes. */
export function HeartbeatCard({ beat, now }: { beat: Schemas["HeartbeatState"]; now: number }) {
  const last = beat.last_call;
  return (
    <Card title="The job">
      <div className="body">
        <dl className="facts across">
          <Fact word="Last call">
            {last ? (
              <span title={utc(last.at)}>
                {callWord(last)}, {ago(last.at, now)} from {last.source}
              </span>
            ) : (
              "none yet"
            )}
          </Fact>
          {beat.running_since && (
            <Fact word="Running">
              <span title={utc(beat.running_since)}>
                for {duration(now - (epoch(beat.running_since) ?? now))}, since {when(beat.running_since, now)}
              </span>
            </Fact>
          )}
          {beat.expected_at && (
            <Fact word="Due">
              <span title={utc(beat.expected_at)}>{when(beat.expected_at, now)}</span>
            </Fact>
          )}
          {beat.deadline_at && (
            <Fact word="Down after">
              <span title={utc(beat.deadline_at)}>{when(beat.deadline_at, now)}</span>
            </Fact>
          )}
          {beat.down_since && (
            <Fact word={last?.kind === "fail" ? "Failing" : "Late"}>
              <span title={utc(beat.down_since)}>since {when(beat.down_since, now)}</span>
            </Fact>
          )}
          <Fact word="Last success">
            {beat.last_success_at ? (
              <span title={utc(beat.last_success_at)}>{when(beat.last_success_at, now)}</span>
            ) : (
              "none yet"
            )}
          </Fact>
        </dl>
      </div>
    </Card>
  );
}

function Fact({ word, children }: { word: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{word}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The address that the job calls, as lines to paste. Whoever has it can call, so viewers do not see it. */
export function AddressCard({ monitor, open }: { monitor: Schemas["Monitor"]; open: boolean }) {
  const role = useRole();
  const client = useQueryClient();
  const path = { id: monitor.id };
  const address = api.useQuery(
    "get",
    "/api/v1/monitors/{id}/heartbeat",
    { params: { path } },
    { enabled: role("editor"), refetchInterval: false },
  );
  const rotate = api.useMutation("post", "/api/v1/monitors/{id}/heartbeat/rotate");
  if (!role("editor")) return null;
  const replace = () =>
    rotate.mutate(
      { params: { path } },
      {
        onError: tellProblem,
        onSuccess: () => tell("The old address opens nothing any more. Give the job the new one."),
        onSettled: () => void client.invalidateQueries(),
      },
    );
  const cron = (monitor.check as { cron?: string }).cron ?? null;
  const [first, ...others] = address.data ? callLines(address.data.url, cron) : [];
  return (
    <Card
      title="How the job calls"
      beside="whoever has the address can call"
      actions={
        <Button compact busy={rotate.isPending} onClick={replace}>
          Replace the address
        </Button>
      }
    >
      <div className="body stack">
        {address.isPending && <Loading rows={2} />}
        {address.isError && !address.data && <Failed error={address.error} retry={() => void address.refetch()} />}
        {first && (
          <>
            <Line line={first} />
            <details open={open || undefined}>
              <summary>Crontab, systemd, timed runs</summary>
              <div className="stack">
                {others.map((line) => (
                  <Line key={line.of} line={line} />
                ))}
                <p className="soft small">
                  While Quorate cannot take a call it answers 503, and <code>--retry</code> calls again.
                </p>
              </div>
            </details>
          </>
        )}
      </div>
    </Card>
  );
}

function Line({ line }: { line: ReturnType<typeof callLines>[number] }) {
  return (
    <div className="stack tight">
      <span className="small soft">{line.says}</span>
      <Copy text={line.text} of={line.of} />
    </div>
  );
}
