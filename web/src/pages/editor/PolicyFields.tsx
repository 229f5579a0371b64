import { NumberInput, Select } from "@mantine/core";
import { span } from "../../lib/format";
import type { Schemas } from "../../api/client";
import type { EditorForm } from "./form";
import { type Override, overrides } from "./values";

type InForce = Schemas["PolicyInForce"];

const presets = [
  { value: "quick", word: "Quick", says: "one failure, then ask the others at once" },
  { value: "balanced", word: "Balanced", says: "the failure must repeat before a location votes" },
  { value: "careful", word: "Careful", says: "three failures in a row, and agreement for one interval more" },
] as const;

const words: Record<Override, { label: string; says: string; unit: string }> = {
  fail_after: { label: "Failures in a row", says: "before a location votes down", unit: "" },
  pass_after: { label: "Passes in a row", says: "before it votes up again", unit: "" },
  retry_gap_s: { label: "Between retries", says: "of a failed attempt", unit: " s" },
  pass_gap_s: { label: "Between passes", says: "while recovering", unit: " s" },
  min_separation_s: { label: "Failures apart", says: "closer ones count as one", unit: " s" },
  min_agree: { label: "Agree, at least", says: "whatever the quorum gives", unit: "" },
  min_domains: { label: "Networks, at least", says: "that failing locations stand in", unit: "" },
  min_regions: { label: "Regions, at least", says: "fewer is partial, not down", unit: "" },
  partial_min: { label: "Partial from", says: "so many failing locations", unit: "" },
  confirm_for_s: { label: "Agreement must last", says: "before it is down", unit: " s" },
  split_for_s: { label: "Undecided for", says: "then it is partial", unit: " s" },
  blind_for_s: { label: "Too little evidence for", says: "then it is unknown", unit: " s" },
  recover_for_s: { label: "Well must last", says: "before it is over", unit: " s" },
  reopen_within_s: { label: "Reopen within", says: "the same incident goes on", unit: " s" },
};

/** When to page: three presets, and every parameter under "Advanced". */
export function PolicyFields({ form, inForce }: { form: EditorForm; inForce: InForce | null }) {
  const v = form.values;
  const changed = v.quorum !== "majority" || overrides.some((name) => v.overrides[name] !== "");
  return (
    <>
      <fieldset>
        <legend>Page when</legend>
        <div className="choices">
          {presets.map((preset) => (
            <label key={preset.value} className="choice">
              <input
                type="radio"
                name="preset"
                value={preset.value}
                checked={v.preset === preset.value}
                onChange={() => form.setFieldValue("preset", preset.value)}
              />
              <b>
                {preset.word}
                {v.preset === preset.value && changed ? ", changed" : ""}
              </b>
              <span className="small soft" style={{ display: "block" }}>
                {preset.says}
              </span>
            </label>
          ))}
        </div>
      </fieldset>
      <details open={changed || undefined}>
        <summary>Advanced</summary>
        <div className="form">
          <div className="fields">
            <Select
              label="Quorum"
              description="how many must agree"
              data={[
                { value: "majority", label: "most of those that count" },
                { value: "at_least", label: "at least a number" },
                { value: "percent", label: "at least a share" },
                { value: "all", label: "all of them" },
                { value: "any", label: "any one" },
              ]}
              {...form.getInputProps("quorum")}
            />
            {v.quorum === "at_least" && (
              <NumberInput label="At least" description="locations" min={1} {...form.getInputProps("k")} />
            )}
            {v.quorum === "percent" && (
              <NumberInput
                label="At least"
                description="of those that count"
                suffix=" %"
                min={1}
                max={100}
                {...form.getInputProps("percent")}
              />
            )}
            {overrides.map((name) => (
              <NumberInput
                key={name}
                label={words[name].label}
                description={words[name].says}
                suffix={words[name].unit}
                placeholder={inForce ? (words[name].unit ? span(inForce[name]) : String(inForce[name])) : ""}
                min={0}
                {...form.getInputProps(`overrides.${name}`)}
              />
            ))}
          </div>
          <p className="muted small">Empty fields follow the preset; what that gives stands in grey.</p>
        </div>
      </details>
    </>
  );
}
