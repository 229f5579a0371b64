import { useEffect, useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Copy } from "../../components/Copy";
import { Failed } from "../../components/Status";
import { StateMark } from "../../components/StateMark";
import { duration, NBSP, offset } from "../../lib/format";
import { useNow } from "../../lib/ticker";
import { clock, epoch } from "../../lib/time";

/**
 * Enrols one agent for a location: makes its token, shows the command once, and watches the agent
 * arrive. The token is made when the viewer asks for it, never by looking.
 */
export function Enrol({ location }: { location: Schemas["Location"] }) {
  const create = api.useMutation("post", "/api/v1/agents");
  const [asked, setAsked] = useState<number | null>(null);
  const make = () => {
    setAsked(Date.now() / 1000);
    create.mutate({ body: { location: location.id } });
  };
  if (!create.data)
    return (
      <div className="stack">
        <p className="soft">
          Any small machine will do: it only calls out over HTTPS, no port is opened. Put it on another provider and in
          another region than the others, so that the fault of one network alone can never page you.
        </p>
        {create.isError && <Failed error={create.error} />}
        <div className="actions">
          <Button primary busy={create.isPending} onClick={make}>
            Make the command
          </Button>
        </div>
      </div>
    );
  return (
    <div className="stack">
      <p className="soft">
        Run this on the machine for <b>{location.name}</b>:
      </p>
      <Copy text={create.data.command} />
      <p className="muted small">
        The token is for this location alone and is shown once.{" "}
        <button type="button" className="link" onClick={make}>
          Lost it? Make another
        </button>
      </p>
      <Arrival agent={create.data.agent.id} since={asked ?? Date.now() / 1000} />
    </div>
  );
}

/** "Appears here": what is known of the agent, line by line, as it comes. */
function Arrival({ agent: id, since }: { agent: string; since: number }) {
  const agents = api.useQuery("get", "/api/v1/agents", undefined, { refetchInterval: 2000 });
  const now = useNow();
  const agent = agents.data?.items.find((a) => a.id === id);
  const first = epoch(agent?.first_seen_at);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (first !== null) setSeen(true);
  }, [first]);
  return (
    <section aria-label="Appears here" aria-live="polite">
      <h3>Appears here</h3>
      {first === null ? (
        <p className="row">
          <StateMark state="pending" />
          Waiting for its first call, {duration(now - since)}. This line changes by itself.
        </p>
      ) : (
        <ul>
          <li className="row">
            <span className="muted">{clock(first)}</span> <StateMark state={agent?.online ? "up" : "unknown"} /> called
            for the first time
          </li>
          {agent?.version && (
            <li className="row">
              <span className="muted">{clock(epoch(agent.last_seen_at) ?? first)}</span> version {agent.version}
              {agent.clock_offset_ms != null && `, clock ${offset(agent.clock_offset_ms)}`}
            </li>
          )}
          {agent && !agent.online && seen && <li>It has been silent for more than 30{NBSP}s.</li>}
        </ul>
      )}
    </section>
  );
}
