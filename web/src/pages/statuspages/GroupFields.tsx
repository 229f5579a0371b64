import { TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { useState } from "react";
import { Button } from "../../components/Button";
import { focusSoon, keepFocus, OrderButtons, orderKeys, useSaid } from "../../components/Order";
import { moved } from "../../lib/order";
import { canMovePart, type Draft, emptyGroup, emptyPart, type GroupDraft, movePart } from "./draft";
import { PartFields } from "./PartFields";

export type PageForm = UseFormReturnType<Draft>;

const MOST_GROUPS = 50;
const MOST_PARTS = 200;

/** Groups of parts, ordered with buttons or with Alt and an arrow; parts go from group to group at the ends. */
export function GroupFields({ form }: { form: PageForm }) {
  const [live, say] = useSaid();
  // Of many parts only those that are being written are drawn with their fields.
  const [open, setOpen] = useState<ReadonlySet<string>>(
    () => new Set(form.values.groups.flatMap((group) => group.parts.filter((p) => p.target === "").map((p) => p.key))),
  );
  const groups = form.values.groups;
  const many = groups.reduce((sum, group) => sum + group.parts.length, 0);
  const groupName = (g: number) => groups[g]?.name.trim() || `group ${g + 1}`;
  const partName = (g: number, p: number) => groups[g]?.parts[p]?.name.trim() || `part ${p + 1} of ${groupName(g)}`;
  const set = (next: readonly GroupDraft[]) => {
    // What was refused stood at a place, not at a part.
    form.clearErrors();
    keepFocus(() => form.setFieldValue("groups", [...next]));
  };
  const moveGroup = (g: number, by: -1 | 1) => {
    const next = moved(groups, g, by);
    if (next === groups) return;
    set(next);
    say(`${groupName(g)} is now ${g + by + 1} of ${groups.length}.`);
  };
  const move = (g: number, p: number, by: -1 | 1) => {
    if (!canMovePart(groups, g, p, by)) return;
    const name = partName(g, p);
    const key = groups[g]?.parts[p]?.key;
    const next = movePart(groups, g, p, by);
    set(next);
    const at = next.findIndex((group) => group.parts.some((part) => part.key === key));
    const place = next[at]?.parts.findIndex((part) => part.key === key) ?? 0;
    const where = next[at]?.name.trim() || `group ${at + 1}`;
    say(`${name} is now ${place + 1} of ${next[at]?.parts.length} in ${where}.`);
    // It is another element in another group, so the focus is led there.
    if (at !== g) focusSoon(`[data-part="${key}"] .order button[data-by="${by}"]`);
  };
  const addPart = (g: number) => {
    const part = emptyPart();
    setOpen(new Set([...open, part.key]));
    form.insertListItem(`groups.${g}.parts`, part);
    focusSoon(`[data-part="${part.key}"] input`);
  };
  const turn = (key: string) => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  return (
    <div className="stack">
      <ol className="ordered">
        {groups.map((group, g) => (
          <li key={group.key} aria-label={groupName(g)} onKeyDown={orderKeys((by) => moveGroup(g, by))}>
            <div className="ordered-head">
              <TextInput
                className="grows"
                aria-label={`Heading of ${groupName(g)}`}
                placeholder="heading, public; may be empty"
                {...form.getInputProps(`groups.${g}.name`)}
              />
              <OrderButtons
                name={groupName(g)}
                first={g === 0}
                last={g === groups.length - 1}
                move={(by) => moveGroup(g, by)}
                remove={() => {
                  say(`${groupName(g)} is removed with its parts.`);
                  set(groups.filter((_, i) => i !== g));
                  focusSoon("[data-add=group]");
                }}
              />
            </div>
            <ol className="ordered inner">
              {group.parts.map((part, p) => (
                <PartFields
                  key={part.key}
                  form={form}
                  at={`groups.${g}.parts.${p}`}
                  part={part}
                  name={partName(g, p)}
                  open={open.has(part.key)}
                  turn={() => turn(part.key)}
                  can={(by) => canMovePart(groups, g, p, by)}
                  move={(by) => move(g, p, by)}
                  remove={() => {
                    say(`${partName(g, p)} is removed.`);
                    set(
                      groups.map((one, i) => (i === g ? { ...one, parts: one.parts.filter((_, j) => j !== p) } : one)),
                    );
                    focusSoon(`[data-add="${group.key}"]`);
                  }}
                />
              ))}
            </ol>
            <div>
              <Button compact data-add={group.key} disabled={many >= MOST_PARTS} onClick={() => addPart(g)}>
                Add a part{groups.length > 1 ? ` to ${groupName(g)}` : ""}
              </Button>
            </div>
          </li>
        ))}
      </ol>
      {live}
      <div className="row">
        <Button
          compact
          data-add="group"
          disabled={groups.length >= MOST_GROUPS}
          onClick={() => {
            const group = emptyGroup();
            setOpen(new Set([...open, ...group.parts.map((part) => part.key)]));
            form.insertListItem("groups", group);
          }}
        >
          Add a group
        </Button>
        <span className="small muted">Alt and an arrow key move a group or a part as well.</span>
      </div>
    </div>
  );
}
