import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { list } from "../../lib/format";
import { useNow } from "../../lib/ticker";
import { ago, utc } from "../../lib/time";
import { fewestWords, holdWords, modeWords } from "./words";

/** The group's rules, as facts. */
export function RulesCard({ group }: { group: Schemas["FailoverGroup"] }) {
  const now = useNow();
  const channels = api.useQuery("get", "/api/v1/channels");
  const named = (channels.data?.items ?? []).filter((one) => group.channels.includes(one.id)).map((one) => one.name);
  return (
    <Card title="Rules">
      <dl className="facts body">
        <dt>Served</dt>
        <dd>{modeWords(group.mode)}</dd>
        <dt>Fewest left</dt>
        <dd>{fewestWords(group)}; if fewer would be left, all are in</dd>
        <dt>Out</dt>
        <dd>while its monitor is down with every needed network in the count</dd>
        <dt>Back</dt>
        <dd>{holdWords(group.return_after_s)}</dd>
        <dt>Told of changes</dt>
        <dd>
          {group.channels.length === 0 ? (
            "nobody"
          ) : (
            <Link to="/alerting">{named.length > 0 ? list(named) : `${group.channels.length}`}</Link>
          )}
        </dd>
        <dt>Saved</dt>
        <dd title={utc(group.updated_at)}>
          revision {group.revision}, {ago(group.updated_at, now)}
        </dd>
      </dl>
    </Card>
  );
}
