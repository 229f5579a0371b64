import type { UseFormReturnType } from "@mantine/form";
import { problemOf } from "../api/problem";

/**
 * Puts a refusal at the field it names. `place` turns the API's path into the form's, or gives null
 * when the form has no such field; what finds no place is returned, to be shown above the buttons.
 */
// biome-ignore lint/suspicious/noExplicitAny: the form's own types do not matter here.
export function showRefusal(form: UseFormReturnType<any>, error: unknown, place: (field: string) => string | null): string | null {
  const problem = problemOf(error);
  const at = problem.field === null ? null : place(problem.field);
  if (at === null) return problem.field ? `${problem.field}: ${problem.message}` : problem.message;
  form.setFieldError(at, problem.message);
  return null;
}
