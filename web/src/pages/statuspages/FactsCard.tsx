import type { Schemas } from "../../api/client";
import { Card } from "../../components/Card";
import { plural } from "../../lib/format";
import { useNow } from "../../lib/ticker";
import { ago, utc, zoneLabel } from "../../lib/time";

/** Where the page, its feeds and its badges are. */
export function FactsCard({ page }: { page: Schemas["StatusPage"] }) {
  const now = useNow();
  const first = page.groups.flatMap((group) => group.parts)[0];
  const root = page.url.replace(/\/$/, "");
  const summary = page.domain ? `${root}/api/v2/summary.json` : `${root}/summary.json`;
  const badge = page.domain ? `${root}/badge` : `${new URL(root).origin}/badge/${page.slug}`;
  return (
    <Card title="Public addresses" beside={!page.published && "once it is published"}>
      <dl className="facts body">
        <dt>Page</dt>
        <dd>
          <Address url={page.url} live={page.published} />
        </dd>
        <dt>Feeds</dt>
        <dd>
          <Address url={`${root}/feed.rss`} word="RSS" live={page.published} />,{" "}
          <Address url={`${root}/feed.atom`} word="Atom" live={page.published} />,{" "}
          <Address url={`${root}/maintenance.ics`} word="calendar of planned work" live={page.published} />
        </dd>
        <dt>For programs</dt>
        <dd>
          <Address url={summary} word="summary.json" live={page.published} />
        </dd>
        {first && (
          <>
            <dt>Badges</dt>
            <dd>
              <Address url={`${badge}/${first.slug}.json`} live={page.published} />, and so on by part
            </dd>
          </>
        )}
        <dt>Shown</dt>
        <dd>
          {plural(page.days, "day")}, in {page.timezone} ({zoneLabel(now, page.timezone)})
        </dd>
        <dt>Own domain</dt>
        <dd>{page.domain ?? "none"}</dd>
        <dt>Saved</dt>
        <dd title={utc(page.updated_at)}>
          revision {page.revision}, {ago(page.updated_at, now)}
        </dd>
      </dl>
    </Card>
  );
}

function Address({ url, word, live }: { url: string; word?: string; live: boolean }) {
  if (!live) return <span className="muted">{word ?? url}</span>;
  return (
    <a href={url} target="_blank" rel="noreferrer">
      {word ?? url}
    </a>
  );
}
