import { type ReactNode, useEffect } from "react";
import { Logo } from "../../components/shell/Rail";

/** The frame of pages that need no sign-in. */
export function Frame({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} – Quorate`;
  }, [title]);
  return (
    <main className="plain-page">
      <div>
        <div className="logo">
          <Logo />
          Quorate
        </div>
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  );
}
