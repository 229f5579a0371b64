import { Modal, Textarea } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { http, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Button } from "../../components/Button";
import { Refusal } from "../../components/Status";
import { tell } from "../../lib/tell";

type Done = Schemas["SloImport"];

/** SLOs from an OpenSLO v1 file: what would be done is shown first, then it is done. */
export function Import() {
  const client = useQueryClient();
  const [opened, setOpened] = useState(false);
  const [text, setText] = useState("");
  const [replace, setReplace] = useState(false);
  const [plan, setPlan] = useState<Done | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const fresh = (change: () => void) => {
    setPlan(null);
    setRefused(null);
    change();
  };
  const close = () => fresh(() => setOpened(false));
  const send = async (dryRun: boolean) => {
    setBusy(true);
    setRefused(null);
    try {
      const done = await importSlos(text, dryRun, replace);
      if (dryRun) {
        setPlan(done);
        return;
      }
      const kept = done.items.filter((item) => item.done !== "unchanged").length;
      tell(kept === 1 ? "1 SLO is imported." : `${kept} SLOs are imported.`);
      void client.invalidateQueries({ queryKey: ["get", "/api/v1/slos"] });
      setText("");
      close();
    } catch (error) {
      const problem = problemOf(error);
      setPlan(null);
      setRefused(problem.field ? `${problem.field} ${problem.message}` : problem.message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button onClick={() => setOpened(true)}>Import…</Button>
      <Modal opened={opened} onClose={close} title="Import SLOs" size="lg">
        <form
          className="form"
          onSubmit={(event) => {
            event.preventDefault();
            void send(plan === null);
          }}
        >
          <div>
            OpenSLO v1, as YAML or JSON. Monitors and fleets are found by their names. All SLOs of the file are taken,
            or none when one is refused.
          </div>
          <input
            type="file"
            accept=".yaml,.yml,.json"
            aria-label="File"
            onChange={(event) => {
              const file = event.currentTarget.files?.[0];
              if (file) void file.text().then((read) => fresh(() => setText(read)));
            }}
          />
          <Textarea
            label="Or the text itself"
            value={text}
            rows={10}
            styles={{ input: { fontFamily: "var(--mono)" } }}
            onChange={(event) => {
              const { value } = event.currentTarget;
              fresh(() => setText(value));
            }}
          />
          <label className="row">
            <input
              type="checkbox"
              checked={replace}
              onChange={(event) => {
                const { checked } = event.currentTarget;
                fresh(() => setReplace(checked));
              }}
            />
            Change SLOs that are here under the same names
          </label>
          {refused && <Refusal>{refused}</Refusal>}
          {plan && <Plan plan={plan} />}
          <div className="actions">
            <Button primary type="submit" busy={busy} disabled={text.trim() === ""}>
              {plan ? "Import" : "Show what would be done"}
            </Button>
            <Button onClick={close}>Cancel</Button>
          </div>
        </form>
      </Modal>
    </>
  );
}

async function importSlos(text: string, dryRun: boolean, replace: boolean): Promise<Done> {
  const answer = await http.POST("/api/v1/slos/import", {
    params: { query: { dry_run: dryRun, replace } },
    body: text,
    bodySerializer: (body) => String(body),
    headers: { "content-type": "application/yaml" },
  });
  if (!answer.data) throw new Error("The answer is empty.");
  return answer.data;
}

const words: Record<string, string> = {
  created: "would be made",
  changed: "would be changed",
  unchanged: "is the same already",
};

function Plan({ plan }: { plan: Done }) {
  return (
    <ul aria-label="What would be done">
      {plan.items.map((item) => (
        <li key={`${item.document} ${item.name}`}>
          {item.name} {words[item.done] ?? item.done}
        </li>
      ))}
      {plan.left_out.map((item) => (
        <li key={`${item.document} ${item.name}`}>
          {item.name} is left out: {item.why}
        </li>
      ))}
      {plan.warnings.map((warning) => (
        <li key={warning}>{warning}</li>
      ))}
    </ul>
  );
}
