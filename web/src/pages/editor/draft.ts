import type { Values } from "./values";

const STORE = "quorate.draft";

/** The half-filled form of a new monitor, kept on this device without what is secret. */
export function keepDraft(values: Values) {
  const { password: _, token: __, ...rest } = values;
  if (values.kind === "http" && values.url.trim() === "") sessionStorage.removeItem(STORE);
  else sessionStorage.setItem(STORE, JSON.stringify(rest));
}

export function takeDraft(): Partial<Values> | null {
  try {
    return JSON.parse(sessionStorage.getItem(STORE) ?? "null") as Partial<Values> | null;
  } catch {
    return null;
  }
}

export function dropDraft() {
  sessionStorage.removeItem(STORE);
}
