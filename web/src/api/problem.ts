/** What went wrong with a request, in words for people. */
export interface Problem {
  code: string;
  message: string;
  /** The request's field at fault, as the API names it: `check.url`, `assertions[1].value`. */
  field: string | null;
  status: number | null;
}

/** Thrown by the client for every answer that is not 2xx. */
export class ApiError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
    this.name = "ApiError";
  }
}

/** Reads the error envelope of an answer, whatever came instead of it. */
export function envelope(status: number, body: unknown): Problem {
  const error = (body as { error?: { code?: unknown; message?: unknown; field?: unknown } } | null)?.error;
  return {
    code: typeof error?.code === "string" ? error.code : `http_${status}`,
    message: sentence(typeof error?.message === "string" ? error.message : fallback(status)),
    field: typeof error?.field === "string" ? error.field : null,
    status,
  };
}

/** The problem behind anything thrown. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ApiError) return error.problem;
  // The browser says nothing more than "failed to fetch" about a server that is not there.
  if (error instanceof TypeError)
    return {
      code: "unreachable",
      message: "Quorate cannot be reached from this browser. Is it still running?",
      field: null,
      status: null,
    };
  return {
    code: "internal",
    message: error instanceof Error ? error.message : String(error),
    field: null,
    status: null,
  };
}

function fallback(status: number): string {
  if (status === 401) return "You are signed out.";
  if (status === 403) return "Your role does not allow this.";
  if (status === 404) return "This is not here any more.";
  if (status === 429) return "Too many requests; wait a little and try again.";
  if (status >= 500) return `Quorate could not answer (${status}). Its log says why.`;
  return `The request was refused (${status}).`;
}

/** A capital at the start and a full stop at the end. */
export function sentence(text: string): string {
  const t = text.trim();
  if (t === "") return "Something went wrong.";
  const start = t.charAt(0).toUpperCase() + t.slice(1);
  return /[.!?…]$/.test(start) ? start : `${start}.`;
}
