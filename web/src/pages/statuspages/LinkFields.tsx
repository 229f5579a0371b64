import { TextInput } from "@mantine/core";
import { Button } from "../../components/Button";
import { focusSoon, keepFocus, OrderButtons, orderKeys, useSaid } from "../../components/Order";
import { moved } from "../../lib/order";
import { emptyLink } from "./draft";
import type { PageForm } from "./GroupFields";

const MOST = 10;

/** Links at the foot of the page. */
export function LinkFields({ form }: { form: PageForm }) {
  const [live, say] = useSaid();
  const links = form.values.links;
  const nameOf = (at: number) => links[at]?.text.trim() || `link ${at + 1}`;
  const move = (from: number, by: -1 | 1) => {
    const next = moved(links, from, by);
    if (next === links) return;
    form.clearErrors();
    keepFocus(() => form.setFieldValue("links", [...next]));
    say(`${nameOf(from)} is now ${from + by + 1} of ${links.length}.`);
  };
  return (
    <div className="stack">
      {links.length > 0 && (
        <ol className="ordered">
          {links.map((link, i) => (
            <li key={link.key} aria-label={nameOf(i)} onKeyDown={orderKeys((by) => move(i, by))}>
              <div className="fields link-fields">
                <TextInput label="Text" placeholder="Contact us" {...form.getInputProps(`links.${i}.text`)} />
                <TextInput
                  label="Leads to"
                  placeholder="https://shop.example/contact"
                  {...form.getInputProps(`links.${i}.url`)}
                />
                <OrderButtons
                  name={nameOf(i)}
                  first={i === 0}
                  last={i === links.length - 1}
                  move={(by) => move(i, by)}
                  remove={() => {
                    form.clearErrors();
                    say(`${nameOf(i)} is removed.`);
                    form.removeListItem("links", i);
                    focusSoon("[data-add=link]");
                  }}
                />
              </div>
            </li>
          ))}
        </ol>
      )}
      {live}
      <div className="row">
        <Button
          compact
          data-add="link"
          disabled={links.length >= MOST}
          onClick={() => form.insertListItem("links", emptyLink())}
        >
          Add a link
        </Button>
        <span className="small muted">Public, at the foot of the page: how to reach you.</span>
      </div>
    </div>
  );
}
