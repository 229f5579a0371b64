import { useLocation, useNavigate, useParams, useSearchParams } from "react-router";
import { api, type Schemas } from "../../api/client";
import { Page } from "../../components/Page";
import { Failed, Loading } from "../../components/Status";
import { nameFor } from "./address";
import { takeDraft } from "./draft";
import { Editor } from "./Editor";
import { fresh, valuesOf } from "./values";

/** A new monitor, from an address, a draft, or another monitor (`?copy=ID`). */
export function NewMonitorPage() {
  const [params] = useSearchParams();
  const copy = params.get("copy");
  const url = params.get("url");
  const source = api.useQuery(
    "get",
    "/api/v1/monitors/{id}",
    { params: { path: { id: copy ?? "" } } },
    { enabled: copy !== null, refetchInterval: false },
  );
  const crumbs = [{ word: "Monitors", to: "/monitors" }, { word: "Add" }];
  if (copy !== null && source.isPending)
    return (
      <Page crumbs={crumbs}>
        <Loading />
      </Page>
    );
  const start = source.data
    ? { ...valuesOf(source.data), url: "", name: "" }
    : url
      ? { ...fresh, url, name: nameFor(url) }
      : { ...fresh, ...takeDraft() };
  return (
    <Page crumbs={crumbs}>
      <Editor key={copy ?? url ?? "new"} start={start} tryAtOnce={url !== null} />
    </Page>
  );
}

/** An existing monitor. */
export function EditMonitorPage() {
  const id = useParams().id ?? "";
  const navigate = useNavigate();
  // A policy that was tried elsewhere comes along; it is saved here or not at all.
  const tried = (useLocation().state as { policy?: Schemas["PolicySpec"] } | null)?.policy;
  const monitor = api.useQuery(
    "get",
    "/api/v1/monitors/{id}",
    { params: { path: { id } } },
    { refetchInterval: false, staleTime: 0 },
  );
  const name = monitor.data?.name ?? "…";
  return (
    <Page crumbs={[{ word: "Monitors", to: "/monitors" }, { word: name, to: `/monitors/${id}` }, { word: "Edit" }]}>
      {monitor.isPending && <Loading />}
      {monitor.isError && !monitor.data && <Failed error={monitor.error} retry={() => void monitor.refetch()} />}
      {monitor.data && tried && (
        <div className="note" role="status">
          <span>The policy below is the one you tried. Nothing is saved yet.</span>
        </div>
      )}
      {monitor.data && (
        <Editor
          key={monitor.data.id}
          start={valuesOf(tried ? { ...monitor.data, policy: tried } : monitor.data)}
          monitor={monitor.data}
          reload={() => void monitor.refetch().then(() => navigate(0))}
        />
      )}
    </Page>
  );
}
