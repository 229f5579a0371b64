import { type FormRulesRecord, useForm } from "@mantine/form";
import { useEffect } from "react";
import type { Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { Button, ButtonLink } from "../../components/Button";
import { showRefusal } from "../../lib/formErrors";
import { rangeWord, ranges } from "../../lib/range";
import { PolicyFields } from "../editor/PolicyFields";
import { fieldOf, policyOf, type Values, valuesOf } from "../editor/values";
import type { Asked } from "./words";

/** Span, policy, and what else would be different. */
export function WhatIfForm(props: {
  monitor: Schemas["Monitor"];
  asked: Asked | null;
  range: string;
  setRange: (range: string) => void;
  busy: boolean;
  error: unknown;
  run: (asked: Asked) => void;
}) {
  const { monitor, asked, error } = props;
  const form = useForm({
    initialValues: valuesOf(asked ? { ...monitor, policy: asked.policy } : monitor),
    // The server knows what cannot work.
    validate: {} as FormRulesRecord<Values>,
  });
  const more = useForm({
    initialValues: {
      without: asked?.without ?? [],
      maintenance: asked?.maintenance ?? true,
      quarantine: asked?.quarantine ?? true,
    },
  });
  const { setFieldError, clearErrors } = form;
  useEffect(() => {
    clearErrors();
    // What has no field here is said where the result would be.
    if (error && problemOf(error).field?.startsWith("policy")) showRefusal({ setFieldError }, error, fieldOf);
  }, [error, setFieldError, clearErrors]);
  const { without } = more.values;
  const usual = Object.keys(monitor.policy).every((key) => key === "preset");
  const follows = usual && (monitor.policy.preset ?? "balanced") === form.values.preset;
  return (
    <form
      className="card body form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        props.run({ policy: policyOf(form.values), ...more.values });
      }}
    >
      <fieldset>
        <legend>Over the last</legend>
        <div className="row">
          {ranges.map((range) => (
            <button
              key={range}
              type="button"
              className="button compact"
              aria-pressed={props.range === range}
              onClick={() => props.setRange(range)}
            >
              {rangeWord(range)}
            </button>
          ))}
        </div>
      </fieldset>
      <PolicyFields form={form} inForce={follows ? monitor.policy_in_force : null} />
      <fieldset>
        <legend>Locations</legend>
        <div className="row wide">
          {monitor.looks_from.map((location) => (
            <label key={location.id} className="row">
              <input
                type="checkbox"
                checked={!without.includes(location.id)}
                disabled={!without.includes(location.id) && without.length + 1 >= monitor.looks_from.length}
                onChange={(event) =>
                  more.setFieldValue(
                    "without",
                    event.currentTarget.checked
                      ? without.filter((id) => id !== location.id)
                      : [...without, location.id],
                  )
                }
              />
              {location.name}
            </label>
          ))}
        </div>
      </fieldset>
      <fieldset>
        <legend>As it was then</legend>
        <div className="row wide">
          <label className="row">
            <input type="checkbox" {...more.getInputProps("maintenance", { type: "checkbox" })} />
            maintenance keeps alerts silent
          </label>
          <label className="row">
            <input type="checkbox" {...more.getInputProps("quarantine", { type: "checkbox" })} />
            quarantined locations do not count
          </label>
        </div>
      </fieldset>
      <div className="actions">
        <Button primary type="submit" busy={props.busy}>
          {asked ? "Try again with this" : "Try it"}
        </Button>
        <ButtonLink to={`/monitors/${monitor.id}`}>Back to the monitor</ButtonLink>
      </div>
    </form>
  );
}
