/** The list with one of its items `by` places further; the same list where that is beyond its ends. */
export function moved<T>(items: readonly T[], from: number, by: number): readonly T[] {
  const to = from + by;
  if (from < 0 || from >= items.length || to < 0 || to >= items.length || by === 0) return items;
  const next = [...items];
  const taken = next.splice(from, 1);
  next.splice(to, 0, ...taken);
  return next;
}
