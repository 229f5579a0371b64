import { MultiSelect, NumberInput, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { api } from "../../api/client";
import { Button } from "../../components/Button";
import { focusSoon, keepFocus, OrderButtons, orderKeys, useSaid } from "../../components/Order";
import { PickMonitor } from "../../components/Pick";
import { moved } from "../../lib/order";
import { type Draft, emptyMember } from "./draft";

const MOST = 64;

/** Members as rows that are moved with buttons, or with Alt and an arrow. */
export function MemberFields({ form, weighted }: { form: UseFormReturnType<Draft>; weighted: boolean }) {
  const locations = api.useQuery("get", "/api/v1/locations", undefined, { staleTime: 60_000 });
  const [live, say] = useSaid();
  const members = form.values.members;
  const nameOf = (at: number) => members[at]?.name.trim() || `member ${at + 1}`;
  const move = (from: number, by: -1 | 1) => {
    const next = moved(members, from, by);
    if (next === members) return;
    // What was refused stood at a place, not at a member.
    form.clearErrors();
    keepFocus(() => form.setFieldValue("members", [...next]));
    say(`${nameOf(from)} is now ${from + by + 1} of ${members.length}.`);
  };
  return (
    <div className="stack">
      <ol className="ordered">
        {members.map((member, i) => (
          <li key={member.key} aria-label={nameOf(i)} onKeyDown={orderKeys((by) => move(i, by))}>
            <div className="ordered-head">
              <span className="strong">{nameOf(i)}</span>
              <OrderButtons
                name={nameOf(i)}
                first={i === 0}
                last={i === members.length - 1}
                move={(by) => move(i, by)}
                remove={
                  members.length > 1
                    ? () => {
                        form.clearErrors();
                        say(`${nameOf(i)} is removed.`);
                        form.removeListItem("members", i);
                        focusSoon("[data-add=member]");
                      }
                    : undefined
                }
              />
            </div>
            <div className="fields">
              <TextInput
                label="Name"
                placeholder={["fra", "iad", "sin"][i % 3]}
                spellCheck={false}
                required
                {...form.getInputProps(`members.${i}.name`)}
              />
              <TextInput
                label="Address"
                placeholder={`192.0.2.${(i + 1) * 10}`}
                spellCheck={false}
                required
                {...form.getInputProps(`members.${i}.address`)}
              />
              <PickMonitor
                label="Monitor"
                chosen={[]}
                {...form.getInputProps(`members.${i}.monitor`)}
                value={member.monitor}
              />
              {weighted && (
                <NumberInput
                  label="Weight"
                  min={1}
                  max={1000}
                  allowDecimal={false}
                  {...form.getInputProps(`members.${i}.weight`)}
                />
              )}
            </div>
            <details open={member.locations.length > 0 || member.partial_at !== "" || undefined}>
              <summary className="small">When it goes out</summary>
              <div className="fields">
                <MultiSelect
                  label="As seen from"
                  description="Empty: by the monitor's own rule. Otherwise most of these must see it down."
                  data={(locations.data?.items ?? []).map((one) => ({ value: one.id, label: one.name }))}
                  {...form.getInputProps(`members.${i}.locations`)}
                />
                <NumberInput
                  label="Out when partial from"
                  description="Share of its locations that see it down. Empty: partial takes nobody out."
                  suffix={" %"}
                  min={1}
                  max={100}
                  allowDecimal={false}
                  {...form.getInputProps(`members.${i}.partial_at`)}
                />
              </div>
            </details>
          </li>
        ))}
      </ol>
      {live}
      <div className="row">
        <Button
          compact
          data-add="member"
          disabled={members.length >= MOST}
          onClick={() => form.insertListItem("members", emptyMember())}
        >
          Add a member
        </Button>
        <span className="small muted">
          Alt and an arrow key move a member as well. {members.length > 1 ? "" : "A group of one can only fail open."}
        </span>
      </div>
    </div>
  );
}
