import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { http, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button, ButtonLink } from "../../components/Button";
import { Card } from "../../components/Card";
import { Page } from "../../components/Page";
import { ScrollX } from "../../components/ScrollX";
import { StateWord } from "../../components/StateMark";
import { Empty, Failed, Loading } from "../../components/Status";
import { count, plural } from "../../lib/format";
import { useNow } from "../../lib/ticker";
import { ago, utc } from "../../lib/time";
import { useRows } from "../../lib/useRows";
import { orphans, pagesSentence, partsOf } from "./words";

type StatusPage = Schemas["StatusPage"];

/** Status pages: what the public is told. */
export function StatusPagesPage() {
  const role = useRole();
  const pages = useInfiniteQuery({
    queryKey: ["get", "/api/v1/status-pages"],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }): Promise<Schemas["List_StatusPage"]> => {
      const query = { limit: 100, cursor: pageParam };
      return (await http.GET("/api/v1/status-pages", { params: { query } })).data ?? { items: [], next: null };
    },
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const items = pages.data?.pages.flatMap((page) => page.items) ?? [];
  const here = useRows(
    items.map((page) => page.id),
    (id) => `/status-pages/${id}`,
  );
  return (
    <Page crumbs={[{ word: "Status pages" }]}>
      <div className="headline">
        <div>
          <h1>{pages.data ? pagesSentence(items) : "Status pages"}</h1>
          <p className="lead">
            A page for people without a sign-in. States and 90 days appear by themselves; words are only what people
            write. Names, addresses and causes from in here never do.
          </p>
        </div>
        {role("editor") && (
          <div className="actions">
            <ButtonLink primary to="/status-pages/new">
              Add a page
            </ButtonLink>
          </div>
        )}
      </div>
      <Card
        title="Pages"
        beside={items.length > 0 && !pages.hasNextPage && plural(items.length, "page")}
        footer={
          pages.hasNextPage && (
            <Button compact busy={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
              Show more
            </Button>
          )
        }
      >
        {pages.isPending && <Loading rows={2} />}
        {pages.isError && <Failed error={pages.error} retry={() => void pages.refetch()} />}
        {pages.data && items.length === 0 && (
          <Empty>
            No page yet.{" "}
            {role("editor") ? (
              <>
                <Link to="/status-pages/new">Add one</Link>: give it a name, and choose which monitors it shows under
                which public names. It stays a draft until you publish it.
              </>
            ) : (
              "An editor can add one; it stays a draft until it is published."
            )}
          </Empty>
        )}
        {items.length > 0 && <PageTable pages={items} here={here} />}
      </Card>
    </Page>
  );
}

function PageTable({ pages, here }: { pages: readonly StatusPage[]; here: string | null }) {
  const now = useNow();
  return (
    <ScrollX label="Status pages">
      <table className="grid folds statuspages">
        <caption className="hidden-visually">Status pages, by name</caption>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Page</th>
            <th scope="col">Where the public finds it</th>
            <th scope="col" className="num">
              Parts
            </th>
            <th scope="col" className="num">
              Open posts
            </th>
            <th scope="col">Changed</th>
          </tr>
        </thead>
        <tbody>
          {pages.map((page) => {
            const lost = orphans(page).length;
            return (
              <tr key={page.id} data-row={page.id} className={here === page.id ? "here" : undefined}>
                <td>
                  <PublishedWord page={page} />
                </td>
                <th scope="row" className="break">
                  <Link to={`/status-pages/${page.id}`}>{page.name}</Link>
                </th>
                <td className="second break">
                  {page.published ? (
                    <a href={page.url} target="_blank" rel="noreferrer">
                      {page.url}
                    </a>
                  ) : (
                    <span className="muted">{page.url}, once published</span>
                  )}
                </td>
                <td className="num off">
                  {count(partsOf(page).length)}
                  {lost > 0 && <span className="muted"> · {lost} with nothing behind</span>}
                </td>
                <td className={`num second${page.open_posts > 0 ? " strong" : ""}`}>
                  {count(page.open_posts)}
                  <span className="phone-only"> open {page.open_posts === 1 ? "post" : "posts"}</span>
                </td>
                <td className="off soft" title={utc(page.updated_at)}>
                  {ago(page.updated_at, now)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollX>
  );
}

export function PublishedWord({ page, large }: { page: StatusPage; large?: boolean }) {
  return page.published ? (
    <StateWord state="up" word="Public" large={large} />
  ) : (
    <StateWord state="paused" word="Draft" large={large} />
  );
}
