import { problemOf } from "../api/problem";

/** What is needed of a form to show a refusal in it. */
interface Form {
  setFieldError: (path: string, message: string) => void;
}

/**
 * Puts a refusal at the field it names. `place` turns the API's path into the form's, or gives null
 * when the form has no such field; what finds no place is returned, to be shown above the buttons.
 */
export function showRefusal(form: Form, error: unknown, place: (field: string) => string | null): string | null {
  const problem = problemOf(error);
  const at = problem.field === null ? null : place(problem.field);
  if (at === null) return problem.field ? `${problem.field}: ${problem.message}` : problem.message;
  form.setFieldError(at, problem.message);
  return null;
}
