import { Modal } from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import { api, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { ConfirmDelete } from "../../components/Confirm";
import { StateWord } from "../../components/StateMark";
import { list, plural } from "../../lib/format";
import { tell, tellProblem } from "../../lib/tell";
import { useNow } from "../../lib/ticker";
import { ago, dayMinute, utc } from "../../lib/time";
import { PostForm } from "./PostForm";
import { UpdateForm } from "./UpdateForm";
import { impactMark, impactWord, partsOf, progressWord } from "./words";

type StatusPage = Schemas["StatusPage"];
type StatusPost = Schemas["StatusPost"];
type Update = Schemas["StatusUpdate"];

/** One post with its updates, and what an editor can do with them. */
export function Post(props: {
  page: StatusPage;
  post: StatusPost;
  editor: boolean;
  changed: () => void;
  folded?: boolean;
}) {
  const { page, post, editor } = props;
  const now = useNow();
  const parts = partsOf(page).filter((part) => post.parts.includes(part.id));
  const said = <Updates {...props} />;
  return (
    <article className="body stack post" aria-label={post.title}>
      <div className="row">
        <h3 className="break">{post.title}</h3>
        <StateWord state={impactMark(post.impact)} word={`${impactWord(post.impact)} impact`} />
        <span className="tag">{progressWord(post.status)}</span>
      </div>
      <p className="small soft">
        Began <span title={utc(post.started_at)}>{dayMinute(post.started_at, now)}</span>
        {post.resolved_at && (
          <>
            , resolved <span title={utc(post.resolved_at)}>{dayMinute(post.resolved_at, now)}</span>
          </>
        )}
        {parts.length > 0 ? ` · ${list(parts.map((part) => part.name))}` : " · no part named"}
        {post.incident && (
          <>
            {" · "}
            <Link to={`/incidents/${post.incident}`}>incident</Link>, seen in here only
          </>
        )}
        {page.published && (
          <>
            {" · "}
            <a href={post.url} target="_blank" rel="noreferrer">
              as the public reads it
            </a>
          </>
        )}
      </p>
      {props.folded ? (
        <details>
          <summary className="small">{plural(post.updates.length, "update")}</summary>
          {said}
        </details>
      ) : (
        said
      )}
      {editor && <Actions {...props} />}
      {!editor && post.updates[0] && <p className="small muted">Last told {ago(post.updates[0].at, now)}.</p>}
    </article>
  );
}

function Updates({ page, post, editor, changed }: Parameters<typeof Post>[0]) {
  const now = useNow();
  const [editing, setEditing] = useState<Update | null>(null);
  const [deleting, setDeleting] = useState<Update | null>(null);
  const remove = api.useMutation("delete", "/api/v1/status-pages/{id}/posts/{post}/updates/{update}");
  return (
    <>
      <ol className="events updates">
        {post.updates.map((one) => (
          <li key={one.id}>
            <span className="muted nowrap" title={utc(one.at)}>
              {dayMinute(one.at, now)}
            </span>
            <div>
              <span className="strong">{progressWord(one.status)}.</span> <span className="break told">{one.text}</span>
              <span className="small muted said">
                by {one.by}
                {one.edited_at && `, changed ${ago(one.edited_at, now)} by ${one.edited_by ?? "somebody"}`}, seen in
                here only
              </span>
            </div>
            {editor && (
              <span className="actions">
                <Button
                  compact
                  aria-label={`Edit the update of ${dayMinute(one.at, now)}`}
                  onClick={() => setEditing(one)}
                >
                  Edit
                </Button>
                {post.updates.length > 1 && (
                  <Button
                    compact
                    aria-label={`Delete the update of ${dayMinute(one.at, now)}`}
                    onClick={() => setDeleting(one)}
                  >
                    Delete…
                  </Button>
                )}
              </span>
            )}
          </li>
        ))}
      </ol>
      <Modal opened={editing !== null} onClose={() => setEditing(null)} title="Change an update" size={560}>
        {editing && (
          <UpdateForm
            page={page}
            post={post}
            update={editing}
            done={() => {
              setEditing(null);
              changed();
            }}
          />
        )}
      </Modal>
      <Modal opened={deleting !== null} onClose={() => setDeleting(null)} title="Delete an update" size={480}>
        <div className="stack">
          <p>The public reads it no more. Feeds that have it may go on showing it.</p>
          <blockquote className="break soft">{deleting?.text}</blockquote>
          <div className="actions">
            <Button
              danger
              busy={remove.isPending}
              onClick={() =>
                deleting &&
                remove.mutate(
                  { params: { path: { id: page.id, post: post.id, update: deleting.id } } },
                  {
                    onSuccess: () => tell("The update is deleted."),
                    onError: tellProblem,
                    onSettled: () => {
                      setDeleting(null);
                      changed();
                    },
                  },
                )
              }
            >
              Delete the update
            </Button>
            <Button onClick={() => setDeleting(null)}>Keep it</Button>
          </div>
        </div>
      </Modal>
    </>
  );
}

function Actions({ page, post, changed }: Parameters<typeof Post>[0]) {
  const [adding, setAdding] = useState<"update" | "resolved" | null>(null);
  const [editing, setEditing] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const remove = api.useMutation("delete", "/api/v1/status-pages/{id}/posts/{post}");
  const resolved = post.status === "resolved";
  return (
    <div className="actions">
      <Button compact primary={!resolved} onClick={() => setAdding("update")}>
        {resolved ? "Add a word" : "Add an update"}
      </Button>
      {!resolved && (
        <Button compact onClick={() => setAdding("resolved")}>
          Resolve
        </Button>
      )}
      <Button compact onClick={() => setEditing(true)}>
        Edit
      </Button>
      <Button compact onClick={() => setDeleting(true)}>
        Delete…
      </Button>
      <Modal
        opened={adding !== null}
        onClose={() => setAdding(null)}
        title={adding === "resolved" ? `Resolve “${post.title}”` : `Update of “${post.title}”`}
        size={560}
      >
        {adding && (
          <UpdateForm
            page={page}
            post={post}
            resolve={adding === "resolved"}
            done={() => {
              setAdding(null);
              changed();
            }}
          />
        )}
      </Modal>
      <Modal opened={editing} onClose={() => setEditing(false)} title="Change a post" size={640}>
        <PostForm
          page={page}
          post={post}
          done={() => {
            setEditing(false);
            changed();
          }}
        />
      </Modal>
      <ConfirmDelete
        opened={deleting}
        close={() => setDeleting(false)}
        title="Delete a post"
        name={post.title}
        act={async () => {
          const header = { "if-match": `"${post.revision}"` };
          await remove.mutateAsync({ params: { path: { id: page.id, post: post.id }, header } });
          tell("The post is deleted.");
          changed();
        }}
      >
        It goes with its updates, and its address answers nobody. To end it, resolve it instead: people then still find
        what happened.
      </ConfirmDelete>
    </div>
  );
}
