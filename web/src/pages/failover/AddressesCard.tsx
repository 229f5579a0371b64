import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { Copy } from "../../components/Copy";
import { list } from "../../lib/format";
import { memberUrl, records } from "./powerdns";

const KEY = "qro_KEY";

/** Where the feed is read, and how a DNS server does it. */
export function AddressesCard({ group }: { group: Schemas["FailoverGroup"] }) {
  const { zone, left } = records(group, KEY);
  return (
    <Card title="Where it is read" beside="with the group's key, which was shown when it was made">
      <div className="body stack">
        <h3>The group</h3>
        <p className="soft">
          Everybody in order, with the reason, as JSON. A balancer that reads a list reads this; asked every 5&nbsp;s it
          is fresh.
        </p>
        <Copy text={`curl -H 'Authorization: Bearer ${KEY}' ${group.feed_url}`} of="the command" />
        <h3>Each member</h3>
        <p className="soft">
          200 while it is to be served, 503 while it is out: all that a health check understands. Without our database
          everybody is answered with 200.
        </p>
        <ul className="stack tight">
          {group.members.map((member) => (
            <li key={member.name}>
              <Copy
                text={`${memberUrl(group.feed_url, member.name)}?token=${KEY}`}
                of={`the address of ${member.name}`}
              />
            </li>
          ))}
        </ul>
        {zone !== "" && (
          <details>
            <summary>A record for PowerDNS</summary>
            <div className="stack">
              <p className="soft">
                For the Authoritative Server from 4.3 on, with <code>enable-lua-records=yes</code>; put the key in place
                of <code>{KEY}</code>. If Quorate cannot be reached at all, it answers with every address. The whole
                zone and its settings stand in <code>deploy/dns</code> beside the source.
              </p>
              <Copy text={zone} of="the record" />
              {left.length > 0 && (
                <p className="small soft">
                  {list(left)} {left.length === 1 ? "has a host name and stands" : "have host names and stand"} in no
                  record of addresses.
                </p>
              )}
            </div>
          </details>
        )}
      </div>
    </Card>
  );
}
