import { type ReactNode, useEffect } from "react";
import { Link } from "react-router";
import { TopBar } from "./shell/TopBar";

export interface Crumb {
  word: string;
  to?: string;
}

/** A page's frame: where we are, and the main part. The h1 belongs to the content: it is the sentence. */
export function Page({ crumbs, children }: { crumbs: readonly Crumb[]; children: ReactNode }) {
  const last = crumbs[crumbs.length - 1]?.word ?? "Quorate";
  useEffect(() => {
    document.title = `${last} – Quorate`;
  }, [last]);
  return (
    <>
      <TopBar>
        {crumbs.map((crumb, i) => (
          <span key={`${i}${crumb.word}`}>
            {i > 0 && <span className="sep"> / </span>}
            {crumb.to ? (
              <Link to={crumb.to}>{crumb.word}</Link>
            ) : (
              <span aria-current={i > 0 ? "page" : undefined}>{crumb.word}</span>
            )}
          </span>
        ))}
      </TopBar>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}
