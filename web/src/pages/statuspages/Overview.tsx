import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { api, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { useRole } from "../../api/session";
import { Button, ButtonLink } from "../../components/Button";
import { ConfirmDelete } from "../../components/Confirm";
import { Page } from "../../components/Page";
import { StateMark } from "../../components/StateMark";
import { Failed, Loading } from "../../components/Status";
import { list } from "../../lib/format";
import { tell, tellProblem } from "../../lib/tell";
import { PublishedWord } from ".";
import { FactsCard } from "./FactsCard";
import { PartsCard } from "./PartsCard";
import { PostsCards } from "./PostsCards";
import { orphans, pageSentence } from "./words";

type StatusPage = Schemas["StatusPage"];

/** One status page from within: what it tells, what people wrote, what stands behind it. */
export function StatusPageOverview() {
  const { id = "" } = useParams();
  const page = api.useQuery("get", "/api/v1/status-pages/{id}", { params: { path: { id } } });
  const gone = page.isError && problemOf(page.error).status === 404;
  if (page.data && !gone) return <Known page={page.data} />;
  return (
    <Page crumbs={[{ word: "Status pages", to: "/status-pages" }, { word: "Page" }]}>
      <h1>{gone ? "There is no such status page." : "Status page"}</h1>
      {page.isPending && <Loading rows={6} />}
      {page.isError && !gone && <Failed error={page.error} retry={() => void page.refetch()} />}
      {gone && (
        <p className="pad-phone">
          It may have been deleted. <Link to="/status-pages">All status pages</Link>
        </p>
      )}
    </Page>
  );
}

function Known({ page }: { page: StatusPage }) {
  const role = useRole();
  const lost = orphans(page);
  return (
    <Page crumbs={[{ word: "Status pages", to: "/status-pages" }, { word: page.name }]}>
      <div className="headline">
        <div>
          <div className="row state-line">
            <PublishedWord page={page} large />
            <span className="soft break">{page.name}</span>
          </div>
          <h1>{pageSentence(page)}</h1>
        </div>
        <Actions page={page} editor={role("editor")} />
      </div>
      {lost.length > 0 && (
        <section className="card edged edge-slow note">
          <StateMark state="slow" />
          <p>
            <b>
              {list(lost.map((part) => part.name))} {lost.length === 1 ? "has" : "have"} nothing behind{" "}
              {lost.length === 1 ? "it" : "them"}:
            </b>{" "}
            what was watched has been deleted, so the public reads “not measured”.{" "}
            {role("editor") && <Link to={`/status-pages/${page.id}/edit`}>Choose another monitor</Link>}
          </p>
        </section>
      )}
      <PostsCards page={page} editor={role("editor")} />
      <div className="two lean-left">
        <PartsCard page={page} />
        <FactsCard page={page} />
      </div>
    </Page>
  );
}

function Actions({ page, editor }: { page: StatusPage; editor: boolean }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const change = api.useMutation("patch", "/api/v1/status-pages/{id}");
  const remove = api.useMutation("delete", "/api/v1/status-pages/{id}");
  const [deleting, setDeleting] = useState(false);
  const of = { path: { id: page.id }, header: { "if-match": `"${page.revision}"` } };
  const refresh = () =>
    client.invalidateQueries({ predicate: (query) => String(query.queryKey[1]).startsWith("/api/v1/status-pages") });
  const publish = (published: boolean) =>
    change.mutate(
      { params: of, body: { published } },
      {
        onSuccess: () =>
          tell(
            published
              ? `${page.name} is public at ${page.url}`
              : `${page.name} is a draft again; nobody outside sees it.`,
          ),
        onError: tellProblem,
        onSettled: () => void refresh(),
      },
    );
  const look = page.published ? (
    <a className="button" href={page.url} target="_blank" rel="noreferrer">
      See it
    </a>
  ) : (
    <a className="button" href={`/api/v1/status-pages/${page.id}/preview`} target="_blank" rel="noreferrer">
      Preview
    </a>
  );
  if (!editor) return <div className="actions">{look}</div>;
  return (
    <div className="actions">
      {look}
      <ButtonLink to={`/status-pages/${page.id}/edit`}>Edit</ButtonLink>
      {page.published ? (
        <Button busy={change.isPending} onClick={() => publish(false)}>
          Back to draft
        </Button>
      ) : (
        <Button primary busy={change.isPending} onClick={() => publish(true)}>
          Publish
        </Button>
      )}
      <Button onClick={() => setDeleting(true)}>Delete…</Button>
      <ConfirmDelete
        opened={deleting}
        close={() => setDeleting(false)}
        title="Delete a status page"
        name={page.name}
        act={async () => {
          await remove.mutateAsync({ params: of });
          tell(`${page.name} is deleted.`);
          navigate("/status-pages");
          void refresh();
        }}
      >
        Its address answers nobody from now on, feeds and badges included, and its posts go with it. Monitors and what
        was measured stay.
      </ConfirmDelete>
    </div>
  );
}
