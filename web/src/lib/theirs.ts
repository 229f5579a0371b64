/** What somebody else saved in between; "reading" while it is asked for. */
export type Theirs<T> = T | "reading" | null;

/**
 * Reads what somebody else saved, to stand beside what was typed. Where it cannot be read the refusal itself is
 * shown, so that a save never ends without a word.
 */
export async function readTheirs<T>(
  read: () => Promise<T | undefined>,
  show: (theirs: Theirs<T>) => void,
  refuse: () => void,
) {
  show("reading");
  const found = await read().catch(() => undefined);
  show(found ?? null);
  if (found === undefined) refuse();
}
