import { Modal } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { http, type Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { Empty, Failed, Loading } from "../../components/Status";
import { useUrlClear, useUrlState } from "../../lib/useUrlState";
import { Post } from "./Post";
import { PostForm } from "./PostForm";

type StatusPage = Schemas["StatusPage"];

/** What people tell the public: what is open, and what was. */
export function PostsCards({ page, editor }: { page: StatusPage; editor: boolean }) {
  const [writing, setWriting] = useUrlState("write");
  const [incident] = useUrlState("incident");
  const clear = useUrlClear();
  const close = () => clear(["write", "incident"]);
  const refresh = useRefresh();
  const open = usePosts(page.id, "open");
  const earlier = usePosts(page.id, "resolved");
  const openItems = open.data?.pages.flatMap((one) => one.items) ?? [];
  const earlierItems = earlier.data?.pages.flatMap((one) => one.items) ?? [];
  return (
    <>
      <Card
        title="Open posts"
        beside="nothing is ever posted by itself: only states are"
        actions={
          editor && (
            <Button compact onClick={() => setWriting("1", true)}>
              Write a post
            </Button>
          )
        }
      >
        {open.isPending && <Loading rows={2} />}
        {open.isError && <Failed error={open.error} retry={() => void open.refetch()} />}
        {open.data && openItems.length === 0 && (
          <Empty>
            None. {editor ? "Write one when people notice something, before they ask." : "An editor can write one."}
          </Empty>
        )}
        {openItems.map((post) => (
          <Post key={post.id} page={page} post={post} editor={editor} changed={refresh} />
        ))}
        <More posts={open} />
      </Card>
      {earlierItems.length > 0 && (
        <Card title="Earlier posts" beside="resolved; the public still reads them">
          {earlierItems.map((post) => (
            <Post key={post.id} page={page} post={post} editor={editor} changed={refresh} folded />
          ))}
          <More posts={earlier} />
        </Card>
      )}
      {earlier.isError && <Failed error={earlier.error} retry={() => void earlier.refetch()} />}
      <Modal opened={writing !== "" && editor} onClose={close} title="Write a post" size={640}>
        <PostForm
          page={page}
          incident={incident}
          done={() => {
            close();
            refresh();
          }}
        />
      </Modal>
    </>
  );
}

/** Asks again for posts, and for the pages that count them. */
function useRefresh() {
  const client = useQueryClient();
  return () =>
    void client.invalidateQueries({ predicate: (q) => String(q.queryKey[1]).startsWith("/api/v1/status-pages") });
}

function usePosts(id: string, state: "open" | "resolved") {
  return useInfiniteQuery({
    queryKey: ["get", "/api/v1/status-pages/{id}/posts", { id, state }],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }): Promise<Schemas["List_StatusPost"]> => {
      const params = { path: { id }, query: { state, limit: 20, cursor: pageParam } };
      const page = await http.GET("/api/v1/status-pages/{id}/posts", { params });
      return page.data ?? { items: [], next: null };
    },
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

function More({ posts }: { posts: ReturnType<typeof usePosts> }) {
  if (!posts.hasNextPage) return null;
  return (
    <footer>
      <Button compact busy={posts.isFetchingNextPage} onClick={() => void posts.fetchNextPage()}>
        Show more
      </Button>
    </footer>
  );
}
