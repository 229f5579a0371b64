import { NativeSelect, NumberInput, Switch, TextInput } from "@mantine/core";
import type { Schemas } from "../../api/client";
import { Button } from "../../components/Button";
import { ruleDraftOf } from "./draft";
import type { SloForm } from "./useCheck";

/** The rules that tell while the budget burns: the usual ones, or one's own. */
export function RuleFields({ form, check }: { form: SloForm; check: Schemas["SloCheck"] | null }) {
  const d = form.values;
  const own = (on: boolean) => {
    form.setFieldValue("own_rules", on);
    // One's own start from those in force, so that a small change stays small.
    if (on && d.rules.length === 0) form.setFieldValue("rules", (check?.rules ?? []).map(ruleDraftOf));
  };
  return (
    <div className="form">
      <Switch
        label="Rules of my own"
        description="Otherwise the usual four: fast and mid page, slow and drift make a ticket."
        checked={d.own_rules}
        onChange={(event) => own(event.currentTarget.checked)}
      />
      {d.own_rules &&
        d.rules.map((rule, i) => (
          <fieldset key={i} className="fields rule">
            <legend>{rule.name || `Rule ${i + 1}`}</legend>
            <TextInput label="Name" {...form.getInputProps(`rules.${i}.name`)} />
            <NativeSelect
              label="Tells"
              data={[
                { value: "page", label: "page" },
                { value: "ticket", label: "ticket" },
              ]}
              {...form.getInputProps(`rules.${i}.severity`)}
            />
            <NumberInput
              label="Long span"
              suffix={"\u00a0min"}
              min={0.01}
              {...form.getInputProps(`rules.${i}.long_min`)}
            />
            <NumberInput
              label="Short span"
              suffix={"\u00a0min"}
              min={0.01}
              {...form.getInputProps(`rules.${i}.short_min`)}
            />
            <NumberInput
              label="Uses of the budget"
              suffix={"\u00a0%"}
              min={0}
              max={100}
              {...form.getInputProps(`rules.${i}.share`)}
            />
            <div className="end">
              <Button
                compact
                onClick={() => form.removeListItem("rules", i)}
                aria-label={`Take ${rule.name || "the rule"} away`}
              >
                Take away
              </Button>
            </div>
          </fieldset>
        ))}
      {d.own_rules && (
        <div className="actions">
          <Button
            compact
            onClick={() =>
              form.insertListItem("rules", {
                name: "",
                severity: "page",
                long_min: 60,
                short_min: 5,
                share: 2,
                min_bad: 2,
              })
            }
          >
            Add a rule
          </Button>
          {d.rules.length === 0 && (
            <span className="soft small">Without rules nobody is told while the budget burns.</span>
          )}
        </div>
      )}
    </div>
  );
}
