import { useState } from "react";
import { Button } from "./Button";

/** Text to be copied, whole, with one button; `of` tells several of them apart. */
export function Copy({ text, label = "Copy", of }: { text: string; label?: string; of?: string }) {
  const [state, setState] = useState<"idle" | "done" | "failed">("idle");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setState("done");
    } catch {
      // Without a secure context the browser gives no clipboard; the text can still be selected.
      setState("failed");
    }
  };
  return (
    <div className="copybox">
      {text}
      <Button compact onClick={copy} aria-label={of && `${label} ${of}`}>
        {state === "done" ? "Copied" : label}
      </Button>
      <span className="hidden-visually" role="status">
        {state === "done" ? "Copied." : state === "failed" ? "The browser refused; select the text instead." : ""}
      </span>
    </div>
  );
}
