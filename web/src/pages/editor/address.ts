/** Addresses as people type and paste them. */

/** Whether something that was pasted is several addresses, one a line. */
export function addressesOf(text: string): string[] {
  return text
    .split(/\s+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** An address as it was typed, with the scheme that people leave out. */
export function completeUrl(text: string): string {
  const t = text.trim();
  return t === "" || /^[a-z][a-z0-9+.-]*:\/\//i.test(t) ? t : `https://${t}`;
}

/** A name to propose: host and path, without what says nothing. */
export function nameFor(url: string): string {
  try {
    const { hostname, pathname } = new URL(completeUrl(url));
    const path = pathname.replace(/\/+$/, "");
    return path === "" ? hostname : `${hostname}${path}`;
  } catch {
    return "";
  }
}
