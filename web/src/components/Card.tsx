import { type ReactNode, useId } from "react";

/** A part of a page: heading, what stands beside it, content, a line below. */
export function Card(props: {
  title: ReactNode;
  beside?: ReactNode;
  actions?: ReactNode;
  footer?: ReactNode;
  edge?: string;
  children: ReactNode;
}) {
  const id = useId();
  return (
    <section className={`card${props.edge ? ` edged edge-${props.edge}` : ""}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{props.title}</h2>
        {props.beside && <span className="muted">{props.beside}</span>}
        {props.actions && <span className="push">{props.actions}</span>}
      </header>
      {props.children}
      {props.footer && <footer>{props.footer}</footer>}
    </section>
  );
}
