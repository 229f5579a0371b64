import { Autocomplete, NumberInput, Textarea, TextInput } from "@mantine/core";
import { type FormRulesRecord, useForm } from "@mantine/form";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { api, http, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Button, ButtonLink } from "../../components/Button";
import { Refusal } from "../../components/Status";
import { daysRule } from "../../lib/certificates";
import { showRefusal } from "../../lib/formErrors";
import { millis } from "../../lib/format";
import type { Line } from "../../lib/assertions";
import { parseLabels } from "../../lib/labels";
import { tell } from "../../lib/tell";
import { CallingCard } from "./CallingCard";
import { Conditions } from "./Conditions";
import { dropDraft, keepDraft } from "./draft";
import { ExpectCard } from "./ExpectCard";
import type { EditorForm } from "./form";
import { KindChoice } from "./KindChoice";
import { asKind, kindOf } from "./kinds";
import { ParentsField } from "./ParentsField";
import { PolicyFields } from "./PolicyFields";
import { Several } from "./Several";
import { latencyRemark, TryCard, useProbe } from "./TryCard";
import { useValidation } from "./useValidation";
import { bodyOf, checkOf, fieldOf, locationsOf, policyOf, proposedName, type Values } from "./values";
import { FleetField, ToldFields, WhereFields } from "./WhereFields";

interface Props {
  start: Values;
  /** The monitor that is edited; absent for a new one. */
  monitor?: Schemas["Monitor"];
  tryAtOnce?: boolean;
  reload?: () => void;
}

const labelsRule = (text: string) => (parseLabels(text) === null ? "Write each as name=value, one a line." : null);
const rules: FormRulesRecord<Values> = {
  labels: labelsRule,
  certificate_days: daysRule,
  location_labels: (text, v) => (v.from === "labelled" ? labelsRule(text) : null),
};

/** Add or edit: what is watched on the left; on the right what it answers now and what to expect. */
export function Editor({ start, monitor, tryAtOnce, reload }: Props) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const form = useForm({
    initialValues: start,
    validate: rules,
  });
  const v = form.values;
  const kind = kindOf(v.kind);
  const [touched, setTouched] = useState<ReadonlySet<string>>(() => new Set(monitor ? Object.keys(start) : []));
  const [refused, setRefused] = useState<string | null>(null);
  const [conflict, setConflict] = useState(false);
  const [several, setSeveral] = useState<string[]>([]);
  const overview = api.useQuery("get", "/api/v1/overview", { params: { query: { state: "down,partial" } } });
  const channels = api.useQuery("get", "/api/v1/channels");
  const fleets = api.useQuery("get", "/api/v1/fleets");
  const { validation, loose } = useValidation(form, monitor?.id, touched);
  const attempt = useTry(v, monitor?.id);
  const remark = v.assertions.some((a) => a.on === "latency_ms") ? latencyRemark(attempt.batch) : null;

  const latest = useRef(v);
  useEffect(() => {
    // A field counts as touched once it differs from where it began.
    const changed = (Object.keys(v) as (keyof Values)[]).filter(
      (key) => JSON.stringify(v[key]) !== JSON.stringify(latest.current[key]),
    );
    latest.current = v;
    if (changed.length > 0)
      setTouched((before) => (changed.every((key) => before.has(key)) ? before : new Set([...before, ...changed])));
    if (!monitor && changed.length > 0) keepDraft(v);
  }, [v, monitor]);
  const first = useRef(tryAtOnce === true);
  useEffect(() => {
    if (!first.current) return;
    first.current = false;
    attempt.run();
  }, [attempt.run]);

  const save = useMutation({
    mutationFn: async ({ values, force }: { values: Values; force?: boolean; copy?: boolean }) => {
      const body = bodyOf(values);
      if (!monitor) return (await http.POST("/api/v1/monitors", { body })).data;
      const header = force ? {} : { "if-match": `"${monitor.revision}"` };
      return (
        await http.PATCH("/api/v1/monitors/{id}", {
          params: { path: { id: monitor.id }, header },
          body: body as Schemas["ChangeMonitor"],
        })
      ).data;
    },
    onSuccess: (saved, { copy }) => {
      dropDraft();
      void client.invalidateQueries();
      tell(
        !monitor
          ? `${saved?.name ?? "The monitor"} is watched from now on.`
          : kind.probed
            ? "Saved; every location probes it now."
            : "Saved.",
      );
      // Its own page shows these as well; copying does not pass it.
      if (copy) for (const warning of saved?.warnings ?? []) tell(`Worth a look: ${warning.message}`);
      if (copy && saved) navigate(`/monitors/new?copy=${saved.id}`);
      else navigate(`/monitors/${saved?.id ?? ""}`, { state: { saved: true } });
    },
    onError: (error) => {
      setConflict(problemOf(error).code === "revision");
      setRefused(showRefusal(form, error, fieldOf));
    },
  });
  const submit = (more: { force?: boolean; copy?: boolean } = {}) =>
    form.onSubmit((values) => {
      setRefused(null);
      setConflict(false);
      save.mutate({ values: { ...values, name: values.name.trim() || proposedName(values) }, ...more });
    })();
  return (
    <>
      <h1>{monitor ? `Change ${monitor.name}` : "Add a monitor"}</h1>
      {several.length > 0 && <Several addresses={several} values={v} close={() => setSeveral([])} />}
      <div className="two editor">
        <form
          className="card body form"
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
          noValidate
        >
          {!monitor && <KindChoice kind={v.kind} choose={(kind) => form.setValues(asKind(v, kind))} />}
          {form.errors.kind && <Refusal>{form.errors.kind}</Refusal>}
          <kind.Target form={form} fresh={!monitor} several={setSeveral} />
          <div className="fields">
            <TextInput
              label="Name"
              placeholder={proposedName(v)}
              required={proposedName(v) === ""}
              {...form.getInputProps("name")}
            />
            <Autocomplete
              label="Group"
              data={overview.data?.groups ?? []}
              comboboxProps={{ transitionProps: { duration: 0 } }}
              {...form.getInputProps("group")}
            />
          </div>
          {kind.probed && (
            <>
              <Conditions
                form={form}
                remark={
                  remark && (
                    <div className="refusal">
                      <span>
                        {remark.text} Allow{" "}
                        <button type="button" className="link" onClick={() => setLatency(form, remark.allow)}>
                          {millis(remark.allow)}
                        </button>
                        , or{" "}
                        <button type="button" className="link" onClick={() => countAsSlow(form)}>
                          count it as slow
                        </button>{" "}
                        instead of failing.
                      </span>
                    </div>
                  )
                }
              />
              <div className="fields">
                <NumberInput label="Every" suffix=" s" min={10} max={86_400} {...form.getInputProps("interval_s")} />
                <NumberInput
                  label="Give up after"
                  suffix=" s"
                  min={0.1}
                  max={60}
                  decimalScale={3}
                  {...form.getInputProps("timeout_s")}
                />
                <NumberInput
                  label="Slow above"
                  suffix=" ms"
                  placeholder="not looked at"
                  min={1}
                  {...form.getInputProps("slow_ms")}
                />
              </div>
              <WhereFields
                form={form}
                locations={overview.data?.locations ?? []}
                looksFrom={validation?.looks_from ?? []}
              />
              <PolicyFields form={form} inForce={validation?.policy_in_force ?? null} />
            </>
          )}
          <ToldFields form={form} channels={channels.data?.items ?? []} />
          <ParentsField form={form} own={monitor?.id ?? null} />
          <FleetField form={form} fleets={fleets.data?.items ?? []} />
          {kind.More && <kind.More form={form} />}
          <details>
            <summary>Labels and runbook</summary>
            <div className="form">
              <Textarea
                label="Labels"
                description="name=value, one a line"
                autosize
                minRows={1}
                {...form.getInputProps("labels")}
              />
              <TextInput
                label="Runbook"
                placeholder="https://wiki.example/checkout"
                {...form.getInputProps("runbook_url")}
              />
            </div>
          </details>
          {validation?.warnings.map((warning) => (
            <p key={warning.code + warning.message} className="soft small">
              {warning.message}
            </p>
          ))}
          {loose.map((text) => (
            <Refusal key={text}>{text}</Refusal>
          ))}
          {refused && <Refusal>{refused}</Refusal>}
          {conflict && (
            <div className="actions">
              <Button onClick={reload}>Load theirs</Button>
              <Button onClick={() => submit({ force: true })}>Save mine over it</Button>
            </div>
          )}
          <div className="actions">
            <Button primary type="submit" busy={save.isPending}>
              {monitor ? "Save" : "Add monitor"}
            </Button>
            {monitor ? (
              <ButtonLink to={`/monitors/${monitor.id}`}>Leave as it was</ButtonLink>
            ) : (
              <Button busy={save.isPending} onClick={() => submit({ copy: true })}>
                Add and copy for another
              </Button>
            )}
            {!monitor && touched.size > 0 && <span className="muted small">Draft kept in this tab</span>}
          </div>
        </form>
        <div className="stack side">
          {kind.probed ? (
            <>
              <TryCard
                batch={attempt.batch}
                error={attempt.error}
                busy={attempt.busy}
                ready={kind.begun(v)}
                run={attempt.run}
                limit_ms={latencyLimit(v)}
                add={(line) => addCondition(form, line)}
              />
              <ExpectCard
                interval_s={v.interval_s || 60}
                timeout_s={v.timeout_s || 10}
                slow_ms={v.slow_ms || null}
                locations={locationsOf(v)}
                policy={policyOf(v)}
                first={validation?.looks_from[0]?.name ?? overview.data?.locations[0]?.name ?? null}
              />
            </>
          ) : (
            <CallingCard saved={monitor !== undefined} />
          )}
        </div>
      </div>
    </>
  );
}

/** Trying the check as it stands in the form. */
function useTry(v: Values, id: string | undefined) {
  const start = api.useMutation("post", "/api/v1/checks/try");
  const batch = useProbe(start.data ?? null);
  const values = useRef(v);
  values.current = v;
  const mutate = start.mutate;
  const run = useRef(() => {
    const now = values.current;
    mutate({
      params: { query: { wait_s: 0 } },
      body: { check: checkOf(now), timeout_s: now.timeout_s || undefined, locations: locationsOf(now), monitor: id },
    });
  });
  return { batch, busy: start.isPending, error: start.error, run: run.current };
}

function latencyLimit(v: Values): number | null {
  const line = v.assertions.find((a) => a.on === "latency_ms" && (a.op === "le" || a.op === "lt"));
  const limit = Number(line?.value);
  return line && limit > 0 ? limit : v.slow_ms === "" ? null : v.slow_ms;
}

/** Adds a condition, or puts it in the place of the one that says the same of the same thing. */
function addCondition(form: EditorForm, line: Line) {
  const at = form.values.assertions.findIndex(
    (a) => a.on === line.on && a.arg === line.arg && (a.op === line.op || a.value.trim() === ""),
  );
  if (at >= 0) form.setFieldValue(`assertions.${at}`, line);
  else form.insertListItem("assertions", line);
}

function setLatency(form: EditorForm, ms: number) {
  const at = form.values.assertions.findIndex((a) => a.on === "latency_ms");
  if (at >= 0) form.setFieldValue(`assertions.${at}.value`, String(ms));
}

/** A latency condition becomes the limit above which a pass counts as slow. */
function countAsSlow(form: EditorForm) {
  const at = form.values.assertions.findIndex((a) => a.on === "latency_ms");
  const limit = Number(form.values.assertions[at]?.value);
  if (at < 0 || !(limit > 0)) return;
  form.removeListItem("assertions", at);
  form.setFieldValue("slow_ms", limit);
}
