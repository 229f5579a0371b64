import { Fieldset, MultiSelect, NativeSelect, NumberInput, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { api, http, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Button } from "../../components/Button";
import { Conflict } from "../../components/Conflict";
import { Refusal } from "../../components/Status";
import { differences } from "../../lib/differences";
import { duration } from "../../lib/format";
import { showRefusal } from "../../lib/formErrors";
import { readTheirs, type Theirs } from "../../lib/theirs";
import { bodyOf, type Draft, draftOf, parseInstances, severities, timing } from "./draft";
import { KindFields } from "./KindFields";

type Fleet = Schemas["Fleet"];

const platforms = [
  { value: "", label: "Not said" },
  { value: "kubernetes", label: "Kubernetes Service" },
  { value: "haproxy", label: "HAProxy" },
  { value: "nginx", label: "nginx upstream" },
  { value: "envoy", label: "Envoy" },
  { value: "alb", label: "AWS Application Load Balancer" },
  { value: "nlb", label: "AWS Network Load Balancer" },
  { value: "google", label: "Google Cloud Load Balancing" },
  { value: "azure_lb", label: "Azure Load Balancer" },
  { value: "app_gateway", label: "Azure Application Gateway" },
];

/** Adds a fleet, or changes one. Only the name is needed; everything else makes the findings sharper. */
export function FleetForm(props: { fleet?: Fleet; done: (saved: Fleet) => void }) {
  const { done } = props;
  // The form works on what it was opened with: the page asks for the fleet again all the time, and a change by
  // others is refused when this is saved.
  const [fleet] = useState(props.fleet);
  // What is saved over; theirs, once that was taken.
  const [revision, setRevision] = useState(fleet?.revision ?? null);
  const [theirs, setTheirs] = useState<Theirs<Fleet>>(null);
  const create = api.useMutation("post", "/api/v1/fleets");
  const change = api.useMutation("patch", "/api/v1/fleets/{id}");
  const channels = api.useQuery("get", "/api/v1/channels");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm<Draft>({
    initialValues: draftOf(fleet),
    validate: {
      instances: (text) =>
        parseInstances(text) === null
          ? "Write one a line: name, its addresses, and its zone in brackets if known."
          : null,
    },
  });
  const save = (values: Draft, over: number | null) => {
    setRefused(null);
    const body = bodyOf(values);
    const onError = (error: unknown) => {
      if (fleet && problemOf(error).code === "revision") {
        const read = async () => (await http.GET("/api/v1/fleets/{id}", { params: { path: { id: fleet.id } } })).data;
        return void readTheirs(read, setTheirs, () => setRefused(problemOf(error).message));
      }
      setRefused(showRefusal(form, error, fieldOf));
    };
    if (fleet)
      change.mutate(
        { params: { path: { id: fleet.id }, header: { "if-match": `"${over}"` } }, body },
        { onSuccess: done, onError },
      );
    else create.mutate({ body: { ...body, instances: body.instances ?? [] } }, { onSuccess: done, onError });
  };
  const submit = form.onSubmit((values) => save(values, revision));
  const times = timing(form.getValues());
  return (
    <form className="form" onSubmit={submit}>
      <div className="fields">
        <TextInput
          label="Name"
          description="As people call it."
          placeholder="shop-web"
          required
          data-autofocus
          {...form.getInputProps("name")}
        />
        <NumberInput
          label="Instances"
          description="How many there should be. Empty: learned."
          min={1}
          allowDecimal={false}
          {...form.getInputProps("expected")}
        />
        <NumberInput
          label="Fewer ready are critical"
          description="Empty: below three quarters."
          min={0}
          allowDecimal={false}
          {...form.getInputProps("min_ready")}
        />
      </div>
      <Fieldset legend="What stands before them">
        <div className="fields">
          <NativeSelect label="Platform" data={platforms} {...form.getInputProps("platform")} />
          <TextInput label="Path of its check" placeholder="/healthz" {...form.getInputProps("check_path")} />
          <NumberInput label="Every" suffix=" s" min={0.1} {...form.getInputProps("interval_s")} />
          <NumberInput label="Time-out" suffix=" s" min={0.1} {...form.getInputProps("timeout_s")} />
          <NumberInput label="Out after failures" min={1} allowDecimal={false} {...form.getInputProps("unhealthy")} />
          <NumberInput label="Back after passes" min={1} allowDecimal={false} {...form.getInputProps("healthy")} />
          <NumberInput
            label="Ignores health below"
            description="Share ready from which on it sends to all. Empty: as it does by default."
            suffix=" %"
            min={0}
            max={100}
            disabled={form.getValues().platform === ""}
            {...form.getInputProps("floor")}
          />
        </div>
        <p className="small soft" role="status">
          {times
            ? `Out ${duration(times.minimum)} after it fails at the earliest, ${duration(times.worst)} if it hangs just after a check; back ${duration(times.back)} after it works again.`
            : "With interval, time-out and both counts the time to removal is measured against what it should be."}
        </p>
      </Fieldset>
      <Fieldset legend="What becomes an incident">
        <div className="fields">
          <NativeSelect label="Findings" data={severities} {...form.getInputProps("min_severity")} />
          <NumberInput label="A removal longer than" suffix=" s" min={1} {...form.getInputProps("removal_s")} />
          <NumberInput
            label="Restarts in an hour"
            min={1}
            allowDecimal={false}
            {...form.getInputProps("restarts_per_h")}
          />
        </div>
        <MultiSelect
          label="Channels"
          description="Empty: the default channels."
          data={(channels.data?.items ?? []).map((c) => ({ value: c.id, label: c.name }))}
          {...form.getInputProps("channels")}
        />
      </Fieldset>
      <details>
        <summary>More: by kind of finding</summary>
        <KindFields form={form} />
      </details>
      <details>
        <summary>More: times, paths, names</summary>
        <div className="fields">
          <NumberInput
            label="Draining lasts"
            description="Requests so long after a removal are no zombie's."
            suffix=" s"
            min={0}
            allowDecimal={false}
            {...form.getInputProps("drain_s")}
          />
          <NumberInput
            label="Warming lasts"
            description="New and returned instances are not compared."
            suffix=" s"
            min={0}
            allowDecimal={false}
            {...form.getInputProps("warm_up_s")}
          />
          <NumberInput
            label="Lines come late by"
            description="For files of an ALB 600 s."
            suffix=" s"
            min={0}
            allowDecimal={false}
            {...form.getInputProps("lateness_s")}
          />
          <NumberInput
            label="Too few is critical after"
            description="And after two checks at least."
            suffix=" s"
            min={0}
            allowDecimal={false}
            {...form.getInputProps("few_critical_s")}
          />
          <NumberInput
            label="Fewer than there should be, after"
            description="Worth a warning from then on."
            suffix=" s"
            min={0}
            allowDecimal={false}
            {...form.getInputProps("few_warning_s")}
          />
          <NumberInput
            label="A roll-out settles after"
            description="Quiet for so long: what is older then is stale."
            suffix=" s"
            min={0}
            allowDecimal={false}
            {...form.getInputProps("settle_s")}
          />
          <NumberInput
            label="Flaps from"
            description="Turns within the span beside."
            min={2}
            allowDecimal={false}
            {...form.getInputProps("flap_from")}
          />
          <NumberInput
            label="Within"
            description="The span in which turns are counted."
            suffix=" min"
            min={1}
            {...form.getInputProps("flap_window_min")}
          />
          <NumberInput
            label="Flaps no more at"
            description="Turns in that span, or fewer."
            min={0}
            allowDecimal={false}
            {...form.getInputProps("flap_until")}
          />
        </div>
        <Textarea
          label="Paths of health checks"
          description="One a line, beside /healthz, /livez, /readyz, /health, /ping and /status."
          autosize
          minRows={1}
          {...form.getInputProps("probe_paths")}
        />
        <Textarea
          label="Instances by name"
          description="One a line: name, its addresses as logs write them, its zone in brackets. web-1 10.9.0.11:8080 app/web1 [eu-1a]"
          autosize
          minRows={2}
          classNames={{ input: "mono-input" }}
          {...form.getInputProps("instances")}
        />
      </details>
      {refused && <Refusal>{refused}</Refusal>}
      {theirs !== null && (
        <Conflict
          differences={theirs === "reading" ? null : differences(draftOf(theirs), form.getValues(), labels)}
          busy={change.isPending}
          overwrite={() => theirs !== "reading" && save(form.getValues(), theirs.revision)}
          take={() => {
            if (theirs !== "reading") {
              form.setValues(draftOf(theirs));
              setRevision(theirs.revision);
            }
            setTheirs(null);
          }}
        />
      )}
      <div className="actions">
        <Button primary type="submit" busy={create.isPending || change.isPending}>
          {fleet ? "Save" : "Add the fleet"}
        </Button>
      </div>
    </form>
  );
}

/** What the fields are called where two drafts are compared. */
const labels: { readonly [K in keyof Draft]: string } = {
  name: "Name",
  expected: "Instances",
  min_ready: "Fewer ready are critical",
  platform: "Platform",
  floor: "Ignores health below, %",
  check_path: "Path of its check",
  interval_s: "Every, s",
  timeout_s: "Time-out, s",
  unhealthy: "Out after failures",
  healthy: "Back after passes",
  min_severity: "Findings",
  removal_s: "A removal longer than, s",
  restarts_per_h: "Restarts in an hour",
  channels: "Channels",
  kinds: "By kind of finding",
  drain_s: "Draining lasts, s",
  warm_up_s: "Warming lasts, s",
  lateness_s: "Lines come late by, s",
  few_critical_s: "Too few is critical after, s",
  few_warning_s: "Fewer than there should be, after, s",
  settle_s: "A roll-out settles after, s",
  flap_from: "Flaps from",
  flap_window_min: "Within, min",
  flap_until: "Flaps no more at",
  probe_paths: "Paths of health checks",
  instances: "Instances by name",
};

/** The form's field for the API's. */
function fieldOf(field: string): string | null {
  const map: Record<string, string> = {
    name: "name",
    expected: "expected",
    min_ready: "min_ready",
    drain_s: "drain_s",
    warm_up_s: "warm_up_s",
    lateness_s: "lateness_s",
    "few_ready.critical_s": "few_critical_s",
    "few_ready.warning_s": "few_warning_s",
    settle_s: "settle_s",
    "flap.from": "flap_from",
    "flap.until": "flap_until",
    "flap.window_s": "flap_window_min",
    "platform.floor": "floor",
    "check.path": "check_path",
    "check.interval_s": "interval_s",
    "check.timeout_s": "timeout_s",
    "check.unhealthy": "unhealthy",
    "check.healthy": "healthy",
    "rules.min_severity": "min_severity",
    "rules.removal_s": "removal_s",
    "rules.restarts_per_h": "restarts_per_h",
  };
  if (field in map) return map[field] ?? null;
  if (field.startsWith("instances")) return "instances";
  if (field.startsWith("probe_paths")) return "probe_paths";
  if (field.startsWith("platform")) return "platform";
  if (field.startsWith("rules.channels")) return "channels";
  if (field.startsWith("rules.kinds.")) return field.slice("rules.".length);
  return null;
}
