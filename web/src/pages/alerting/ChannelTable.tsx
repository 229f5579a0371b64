import type { ReactNode } from "react";
import type { Schemas } from "../../api/client";
import { StateWord } from "../../components/StateMark";
import { millis } from "../../lib/format";
import { useNow } from "../../lib/ticker";
import { utc, when } from "../../lib/time";
import { severities } from "./ChannelForm";
import { destination, kindOf } from "./kinds";

type Channel = Schemas["Channel"];
export type Tested = Schemas["TestResult"] | "busy";

/** Channels with what they hear and what the other side said last. */
export function ChannelTable({
  channels,
  tested,
  actions,
}: {
  channels: readonly Channel[];
  tested: Record<string, Tested>;
  actions: (channel: Channel) => ReactNode;
}) {
  return (
    <table className="grid folds">
      <caption className="hidden-visually">Channels</caption>
      <thead>
        <tr>
          <th scope="col">Channel</th>
          <th scope="col">To</th>
          <th scope="col">Hears</th>
          <th scope="col">Last delivery</th>
          <th scope="col">The other side</th>
          <th scope="col">
            <span className="hidden-visually">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {channels.map((channel) => (
          <Row key={channel.id} channel={channel} tested={tested[channel.id]} actions={actions(channel)} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ channel, tested, actions }: { channel: Channel; tested: Tested | undefined; actions: ReactNode }) {
  const hears = severities.find((s) => s.value === channel.min_severity)?.label ?? channel.min_severity;
  const refused =
    tested !== undefined && tested !== "busy" ? !tested.delivered : channel.last_delivery?.outcome === "failed";
  return (
    <tr className={refused ? "edged edge-down" : undefined}>
      <th scope="row">
        {channel.name}{" "}
        <span className="muted small-weight">
          {channel.kind === "email" ? "mail" : channel.kind === "webhook" ? "webhook" : kindOf(channel.kind).word}
        </span>
      </th>
      <td className="second break soft wide-enough">{destination(channel.config as Record<string, unknown>)}</td>
      <td className="second">
        {channel.default ? "default, " : "only where named, "}
        {hears}
      </td>
      <td aria-live="polite">
        <Last channel={channel} tested={tested} />
      </td>
      <td className="second break soft">
        {tested !== undefined && tested !== "busy"
          ? `${tested.answer} in ${millis(tested.took_ms)}`
          : (channel.disabled_reason ?? channel.last_delivery?.answer ?? "")}
      </td>
      <td className="num end">{actions}</td>
    </tr>
  );
}

function Last({ channel, tested }: { channel: Channel; tested: Tested | undefined }) {
  const now = useNow();
  if (tested === "busy") return <StateWord state="pending" word="Sending" />;
  if (tested)
    return (
      <StateWord state={tested.delivered ? "up" : "down"} word={tested.delivered ? "Test accepted" : "Test refused"} />
    );
  if (!channel.enabled)
    return <StateWord state="paused" word={channel.disabled_reason ? "Switched itself off" : "Switched off"} />;
  const last = channel.last_delivery;
  if (!last) return <StateWord state="pending" word="Never tried" />;
  const state = last.outcome === "delivered" ? "up" : last.outcome === "failed" ? "down" : "pending";
  const word = last.outcome === "delivered" ? "Accepted" : last.outcome === "failed" ? "Refused" : "Being tried";
  return (
    <span className="row">
      <StateWord state={state} word={word} />
      <span className="muted small" title={utc(last.at)}>
        {when(last.at, now)}
      </span>
    </span>
  );
}
