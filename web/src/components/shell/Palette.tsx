import { Modal } from "@mantine/core";
import { useEffect, useId, useState, useSyncExternalStore } from "react";
import { useNavigate } from "react-router";
import { api } from "../../api/client";
import { useRole } from "../../api/session";
import { keyList } from "../../lib/keys";
import { places, setUp } from "./nav";

/** Something that can be found or done. */
export interface Entry {
  word: string;
  kind: string;
  to: string;
}

let shown: "find" | "keys" | null = null;
const listeners = new Set<() => void>();
const show = (what: typeof shown) => {
  shown = what;
  for (const tell of listeners) tell();
};
export const openPalette = () => show("find");
export const openKeys = () => show("keys");

/** Ctrl K finds any object or action, `?` lists the keys. Stands once, in the shell. */
export function Palette() {
  const what = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => shown,
  );
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openPalette();
      }
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
  return (
    <>
      <Modal opened={what === "find"} onClose={() => show(null)} title="Find or do" size={560}>
        {what === "find" && <Finder close={() => show(null)} />}
      </Modal>
      <Modal opened={what === "keys"} onClose={() => show(null)} title="Keys">
        <table className="grid dense">
          <tbody>
            {keyList.map(([keys, does]) => (
              <tr key={keys}>
                <th scope="row">
                  {keys.split(" ").map((key) => (
                    <span key={key}>
                      <kbd>{key}</kbd>{" "}
                    </span>
                  ))}
                </th>
                <td>{does}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <p className="muted small">They can be turned off in the account menu.</p>
      </Modal>
    </>
  );
}

/** Everything that has a name, by it; monitors also by group and target. */
function useFound(text: string): Entry[] {
  const found = api.useQuery(
    "get",
    "/api/v1/monitors",
    { params: { query: { q: text, limit: 8 } } },
    { enabled: text !== "" },
  );
  const fleets = api.useQuery("get", "/api/v1/fleets");
  const slos = api.useQuery(
    "get",
    "/api/v1/slos",
    { params: { query: { search: text, limit: 4 } } },
    { enabled: text !== "" },
  );
  // These are few, and asked for whole.
  const groups = api.useQuery("get", "/api/v1/failover", undefined, { enabled: text !== "" });
  const pages = api.useQuery("get", "/api/v1/status-pages", undefined, { enabled: text !== "" });
  const schedules = api.useQuery("get", "/api/v1/reports/schedules", undefined, { enabled: text !== "" });
  if (text === "") return [];
  const named = (items: readonly { id: string; name: string }[] | undefined, kind: string, path: string) =>
    (items ?? [])
      .filter((one) => one.name.toLowerCase().includes(text))
      .slice(0, 4)
      .map((one) => ({ word: one.name, kind, to: `${path}/${one.id}` }));
  return [
    ...named(fleets.data?.items, "fleet", "/fleets"),
    ...(slos.data?.items ?? []).map((slo) => ({ word: slo.name, kind: "SLO", to: `/slos/${slo.id}` })),
    ...named(groups.data?.items, "failover group", "/failover-groups"),
    ...named(pages.data?.items, "status page", "/status-pages"),
    ...named(schedules.data?.items, "schedule of reports", "/reports/schedules"),
    ...(found.data?.items ?? []).map((m) => ({ word: m.name, kind: m.group || "monitor", to: `/monitors/${m.id}` })),
  ];
}

function Finder({ close }: { close: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const navigate = useNavigate();
  const role = useRole();
  const id = useId();
  const fixed: Entry[] = [
    ...(role("editor") ? [{ word: "Add a monitor", kind: "action", to: "/monitors/new" }] : []),
    ...(role("editor") ? [{ word: "Add a fleet", kind: "action", to: "/fleets?add=1" }] : []),
    ...(role("editor") ? [{ word: "Add an SLO", kind: "action", to: "/slos/new" }] : []),
    ...(role("editor") ? [{ word: "Plan maintenance", kind: "action", to: "/maintenance/new" }] : []),
    ...(role("editor") ? [{ word: "Schedule a report", kind: "action", to: "/reports/schedules/new" }] : []),
    ...(role("editor") ? [{ word: "Add a failover group", kind: "action", to: "/failover-groups/new" }] : []),
    ...(role("editor") ? [{ word: "Add a status page", kind: "action", to: "/status-pages/new" }] : []),
    ...(role("admin") ? [{ word: "Add a location", kind: "action", to: "/locations?add=1" }] : []),
    ...(role("editor") ? [{ word: "Add a channel", kind: "action", to: "/alerting?add=email" }] : []),
    ...[...places, ...setUp]
      .filter((place) => !place.least || role(place.least))
      .map((place) => ({ word: place.word, kind: "page", to: place.to })),
  ];
  const wanted = text.trim().toLowerCase();
  const found = useFound(wanted);
  const hits = [...fixed.filter((entry) => entry.word.toLowerCase().includes(wanted)), ...found].slice(0, 14);
  const chosen = Math.min(at, hits.length - 1);
  const go = (entry: Entry | undefined) => {
    if (!entry) return;
    close();
    navigate(entry.to);
  };
  return (
    <div className="stack">
      <input
        className="query"
        style={{ width: "100%" }}
        // The dialog was opened to type here.
        data-autofocus
        role="combobox"
        aria-label="Find or do"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={hits.length > 0 ? `${id}-${chosen}` : undefined}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            setAt(Math.max(0, Math.min(hits.length - 1, chosen + (event.key === "ArrowDown" ? 1 : -1))));
          } else if (event.key === "Enter") go(hits[chosen]);
        }}
      />
      <div id={id} role="listbox" aria-label="Found">
        {hits.map((entry, i) => (
          <div
            key={`${entry.kind}${entry.to}`}
            id={`${id}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === chosen}
            className="found"
            onMouseMove={() => setAt(i)}
            onClick={() => go(entry)}
            onKeyDown={() => {}}
          >
            {entry.word} <span className="muted small">{entry.kind}</span>
          </div>
        ))}
        {hits.length === 0 && <p className="muted">Nothing is called that.</p>}
      </div>
    </div>
  );
}
