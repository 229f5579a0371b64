import type { ButtonHTMLAttributes } from "react";
import { Link, type LinkProps } from "react-router";

interface Looks {
  primary?: boolean;
  danger?: boolean;
  compact?: boolean;
}

const classes = ({ primary, danger, compact }: Looks, more = "") =>
  ["button", primary && "primary", danger && "danger", compact && "compact", more].filter(Boolean).join(" ");

/** A button; while `busy` it keeps its width and focus, and does nothing. */
export function Button(props: ButtonHTMLAttributes<HTMLButtonElement> & Looks & { busy?: boolean }) {
  const { primary, danger, compact, busy, className, onClick, type = "button", ...rest } = props;
  return (
    <button
      {...rest}
      type={type}
      aria-busy={busy || undefined}
      className={classes({ primary, danger, compact }, className)}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
    />
  );
}

/** A link that looks like a button. */
export function ButtonLink({ primary, danger, compact, className, ...rest }: LinkProps & Looks) {
  return <Link {...rest} className={classes({ primary, danger, compact }, className)} />;
}
