import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { bodyOf, canMovePart, draftOf, fieldOf, movePart, slugOf } from "./draft";
import { instantOf, localInput, orphans, pageSentence, pagesSentence } from "./words";

const part = (name: string, more: object = {}) => ({
  id: `p-${name}`,
  name,
  slug: name,
  description: "",
  monitor: { id: `m-${name}`, name: `internal-${name}` },
  slo: null,
  ...more,
});

const page = {
  id: "s",
  name: "Shop",
  slug: "shop",
  headline: "",
  timezone: "Europe/Berlin",
  domain: null,
  published: true,
  days: 90,
  groups: [
    {
      id: "g1",
      name: "Sales",
      parts: [part("checkout"), part("search", { monitor: null, slo: { id: "o", name: "x" } })],
    },
    { id: "g2", name: "", parts: [part("gone", { monitor: null })] },
  ],
  links: [{ text: "Contact", url: "https://shop.example/contact" }],
  url: "https://q.example/status/shop",
  open_posts: 0,
  revision: 3,
  created_at: "",
  updated_at: "",
} as unknown as Schemas["StatusPage"];

const names = (groups: { parts: { name: string }[] }[]) => groups.map((group) => group.parts.map((p) => p.name));

describe("the editor of a status page", () => {
  it("gives back what it was opened with, ids and all", () => {
    expect(bodyOf(draftOf(page))).toEqual({
      name: "Shop",
      slug: "shop",
      headline: "",
      timezone: "Europe/Berlin",
      domain: null,
      published: true,
      days: 90,
      groups: [
        {
          id: "g1",
          name: "Sales",
          parts: [
            { id: "p-checkout", name: "checkout", description: "", monitor: "m-checkout" },
            { id: "p-search", name: "search", description: "", slo: "o" },
          ],
        },
        { id: "g2", name: "", parts: [{ id: "p-gone", name: "gone", description: "", monitor: "" }] },
      ],
      links: [{ text: "Contact", url: "https://shop.example/contact" }],
    });
  });
  it("moves a part within its group, and past its end into the next one", () => {
    const { groups } = draftOf(page);
    expect(names(movePart(groups, 0, 0, 1))).toEqual([["search", "checkout"], ["gone"]]);
    expect(names(movePart(groups, 0, 1, 1))).toEqual([["checkout"], ["search", "gone"]]);
    expect(names(movePart(groups, 1, 0, -1))).toEqual([["checkout", "search", "gone"], []]);
    expect(names(movePart(groups, 0, 0, -1))).toEqual(names(groups));
    expect([canMovePart(groups, 0, 0, -1), canMovePart(groups, 0, 1, 1), canMovePart(groups, 1, 0, 1)]).toEqual([
      false,
      true,
      false,
    ]);
  });
  it("finds the field that a refusal names", () => {
    expect(fieldOf("groups[1].parts[0].monitor")).toBe("groups.1.parts.0.target");
    expect(fieldOf("groups[1].parts[0].slo")).toBe("groups.1.parts.0.target");
    expect(fieldOf("groups[0].parts[2].name")).toBe("groups.0.parts.2.name");
    expect(fieldOf("groups[0].name")).toBe("groups.0.name");
    expect(fieldOf("links[0].url")).toBe("links.0.url");
    expect(fieldOf("domain")).toBe("domain");
    expect(fieldOf("groups")).toBeNull();
  });
  it("makes an address from a name", () => {
    expect(slugOf("  Shop Example (Köln) ")).toBe("shop-example-koln");
    expect(slugOf("!")).toBe("");
    expect(slugOf(`${"a".repeat(62)} b`)).toBe("a".repeat(62));
  });
});

describe("what is said of status pages", () => {
  it("tells drafts, open posts, and that all is well", () => {
    expect(pagesSentence([])).toBe("Nothing is told to the public yet.");
    expect(pagesSentence([{ ...page, published: false }])).toBe("The page is a draft: nobody outside sees it.");
    expect(pagesSentence([page])).toBe("Shop is public; nothing is open.");
    expect(pagesSentence([page, { ...page, name: "Shop EU", open_posts: 2 }])).toBe(
      "Shop EU tells of something that is not resolved.",
    );
    expect(pageSentence({ ...page, open_posts: 1 }).replaceAll("\u00a0", " ")).toBe(
      "Public, with 1 post that is not resolved.",
    );
  });
  it("knows parts behind which nothing is any more", () => {
    expect(orphans(page).map((one) => one.name)).toEqual(["gone"]);
  });
  it("reads and writes times as the browser's fields do", () => {
    const at = "2026-11-17T03:07:00.000Z";
    expect(instantOf(localInput(at))).toBe(at);
    expect(instantOf("")).toBeNull();
    expect(instantOf("soon")).toBeNull();
  });
});
