import { type ReactNode, useLayoutEffect, useRef, useState } from "react";

/**
 * What is too wide scrolls inside, its first column stays. While there is something to scroll it can be
 * reached with the keyboard.
 */
export function ScrollX({ label, maxHeight, children }: { label: string; maxHeight?: number; children: ReactNode }) {
  const host = useRef<HTMLDivElement>(null);
  const [overflows, setOverflows] = useState(false);
  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    const read = () =>
      setOverflows(element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight);
    read();
    const watch = new ResizeObserver(read);
    watch.observe(element);
    for (const child of element.children) watch.observe(child);
    return () => watch.disconnect();
  }, []);
  return (
    <div
      ref={host}
      className="scroll-x"
      style={maxHeight ? { maxHeight, overflowY: "auto" } : undefined}
      {...(overflows ? { tabIndex: 0, role: "group", "aria-label": `${label}, scrolls` } : {})}
    >
      {children}
    </div>
  );
}
