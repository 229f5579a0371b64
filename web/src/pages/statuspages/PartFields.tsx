import { NativeSelect, TextInput } from "@mantine/core";
import { Button } from "../../components/Button";
import { OrderButtons, orderKeys } from "../../components/Order";
import { PickMonitor, PickSlo } from "../../components/Pick";
import type { PartDraft } from "./draft";
import type { PageForm } from "./GroupFields";

/** One part: a line while it is folded, its fields while it is written or something in it is refused. */
export function PartFields(props: {
  form: PageForm;
  /** Its path in the form. */
  at: string;
  part: PartDraft;
  name: string;
  open: boolean;
  turn: () => void;
  can: (by: -1 | 1) => boolean;
  move: (by: -1 | 1) => void;
  remove: () => void;
}) {
  const { form, at, part, name } = props;
  const refused = Object.keys(form.errors).some((field) => field.startsWith(`${at}.`));
  const open = props.open || refused;
  return (
    <li aria-label={name} data-part={part.key} onKeyDown={orderKeys(props.move)}>
      <div className="ordered-head">
        <span className="break">
          <span className="strong">{name}</span>{" "}
          {!open && part.known && (
            <span className="small muted">
              {part.about === "slo" ? "SLO" : "monitor"} {part.known.name}
            </span>
          )}
        </span>
        <span className="row">
          <Button compact aria-expanded={open} aria-label={`${open ? "Fold" : "Change"} ${name}`} onClick={props.turn}>
            {open ? "Fold" : "Change"}
          </Button>
          <OrderButtons
            name={name}
            first={!props.can(-1)}
            last={!props.can(1)}
            move={props.move}
            remove={props.remove}
          />
        </span>
      </div>
      {open && (
        <>
          <div className="fields">
            <TextInput
              label="Public name"
              description="What people call it."
              placeholder="Checkout"
              maxLength={200}
              required
              {...form.getInputProps(`${at}.name`)}
            />
            <TextInput
              label="Public description"
              description="May be empty."
              placeholder="Paying with card or invoice"
              maxLength={300}
              {...form.getInputProps(`${at}.description`)}
            />
          </div>
          <div className="fields">
            <NativeSelect
              label="Measured by"
              description="Not public."
              data={[
                { value: "monitor", label: "One monitor" },
                { value: "slo", label: "One SLO" },
              ]}
              {...form.getInputProps(`${at}.about`)}
              onChange={(event) => {
                form.setFieldValue(`${at}.about`, event.currentTarget.value);
                form.setFieldValue(`${at}.target`, "");
                form.setFieldValue(`${at}.known`, null);
              }}
            />
            <Behind form={form} at={at} part={part} />
          </div>
        </>
      )}
    </li>
  );
}

/** What is measured behind it: found by typing, known to us alone. */
function Behind({ form, at, part }: { form: PageForm; at: string; part: PartDraft }) {
  const Pick = part.about === "slo" ? PickSlo : PickMonitor;
  return (
    <Pick
      key={part.about}
      label={part.about === "slo" ? "SLO" : "Monitor"}
      description="Not public: nobody outside sees its name."
      chosen={part.known ? [part.known] : []}
      value={part.target}
      error={form.errors[`${at}.target`]}
      onChange={(id) => {
        form.clearFieldError(`${at}.target`);
        form.setFieldValue(`${at}.target`, id);
      }}
      onPick={(known) => form.setFieldValue(`${at}.known`, known)}
    />
  );
}
