import { type RefObject, useLayoutEffect, useState } from "react";

export interface Windowed {
  first: number;
  last: number;
  /** Heights that stand for the rows not drawn, in pixels. */
  above: number;
  below: number;
}

/** Which rows are in view, with some to spare. All lengths in pixels. */
export function inView(count: number, row: number, top: number, height: number, spare = 12): Windowed {
  const first = Math.max(0, Math.min(count, Math.floor(top / row) - spare));
  const last = Math.max(first, Math.min(count, Math.ceil((top + height) / row) + spare));
  return { first, last, above: first * row, below: (count - last) * row };
}

/**
 * Draws only the rows near the window. Rows are taken to be as high as the first one drawn. `keep` is
 * a row that must be drawn because it has the focus.
 */
export function useWindowed(body: RefObject<HTMLElement | null>, count: number): Windowed {
  const [view, setView] = useState<Windowed>(() => inView(count, 37, 0, 1200));
  useLayoutEffect(() => {
    const read = () => {
      const element = body.current;
      if (!element) return;
      const sample = element.querySelector<HTMLElement>("tr[data-row]");
      const row = sample?.offsetHeight || 37;
      const top = -element.getBoundingClientRect().top;
      const next = inView(count, row, top, window.innerHeight);
      setView((old) => (old.first === next.first && old.last === next.last && old.below === next.below ? old : next));
    };
    read();
    window.addEventListener("scroll", read, { passive: true });
    window.addEventListener("resize", read);
    return () => {
      window.removeEventListener("scroll", read);
      window.removeEventListener("resize", read);
    };
  }, [body, count]);
  return view;
}
