/** The time zones that the browser knows, and the one that is set. */
export const zones = (own: string): string[] => [...new Set(["UTC", own, ...Intl.supportedValuesOf("timeZone")])];

/** Where the browser is. */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
