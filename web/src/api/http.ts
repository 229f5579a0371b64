import { ApiError, envelope } from "./problem";

/** The fetch of this app: the session cookie goes along, and every answer that is not 2xx is thrown. */
export async function request(input: Request): Promise<Response> {
  const answer = await globalThis.fetch(input);
  if (answer.ok) return answer;
  let body: unknown = null;
  try {
    body = await answer.clone().json();
  } catch {
    // A proxy in between may answer with a page of its own; the status says enough.
  }
  throw new ApiError(envelope(answer.status, body));
}
