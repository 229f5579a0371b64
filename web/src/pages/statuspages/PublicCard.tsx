import { Card } from "../../components/Card";
import { count, list, plural } from "../../lib/format";
import type { Draft, PartDraft } from "./draft";

const SHOWN = 12;

/** What the public would read of what is written so far, and what stays in here. */
export function PublicCard({ draft }: { draft: Draft }) {
  const parts = draft.groups.flatMap((group) => group.parts);
  const hidden = [...new Set(parts.flatMap((part) => (part.known ? [part.known.name] : [])))];
  return (
    <div className="stack side">
      <Card title="What the public reads" beside={draft.published ? "as soon as it is saved" : "once it is published"}>
        <div className="body stack">
          <p className="say break">{draft.name.trim() || <span className="muted">Name</span>}</p>
          {draft.headline.trim() !== "" && <p className="soft break">{draft.headline}</p>}
          {draft.groups.map((group) => (
            <section key={group.key} className="stack tight">
              {group.name.trim() !== "" && <h3 className="break">{group.name}</h3>}
              <ul className="stack tight">
                {group.parts.slice(0, SHOWN).map((part) => (
                  <Part key={part.key} part={part} days={draft.days} />
                ))}
                {group.parts.length > SHOWN && <li className="muted">and {count(group.parts.length - SHOWN)} more</li>}
              </ul>
            </section>
          ))}
          {draft.links.length > 0 && <p className="small break">{draft.links.map((link) => link.text).join(" · ")}</p>}
          <p className="small muted">
            Beside each part: whether it works now, how it did on {draft.days === "" ? "90" : draft.days} days, in{" "}
            {draft.timezone}, and the share of the time, cut off. Time of which nothing is known reads “not measured”.
          </p>
        </div>
      </Card>
      <Card title="What stays in here">
        <ul className="body stack tight small">
          <li className="break">
            Names of monitors and SLOs
            {hidden.length > 0 &&
              `: ${hidden.length > 5 ? `${hidden.slice(0, 5).join(", ")} and ${plural(hidden.length - 5, "more", "more")}` : list(hidden)}`}
          </li>
          <li>Addresses that are probed, headers, conditions</li>
          <li>Locations, votes, causes and error texts</li>
          <li>Incidents in here, who answered them, who wrote a post</li>
        </ul>
      </Card>
    </div>
  );
}

function Part({ part, days }: { part: PartDraft; days: number | "" }) {
  return (
    <li>
      <span className="public-part">
        <span className="strong break">{part.name.trim() || <span className="muted">Public name</span>}</span>
        <span className="public-days" aria-hidden="true" title={`${days} days`} />
      </span>
      {part.description.trim() !== "" && <span className="small soft break said">{part.description}</span>}
    </li>
  );
}
