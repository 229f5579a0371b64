import type { Schemas } from "../../api/client";

/** `Succeeded`, `Started`, `Failed, exit code 3` */
export function callWord(call: Pick<Schemas["Heartbeat"], "kind" | "exit_code">): string {
  if (call.kind === "success") return "Succeeded";
  if (call.kind === "start") return "Started";
  return call.exit_code == null ? "Failed" : `Failed, exit code ${call.exit_code}`;
}

/** Whether a job calls us; everything else is probed. */
export const isHeartbeat = (monitor: Pick<Schemas["Monitor"], "check">): boolean =>
  (monitor.check as { kind?: string }).kind === "heartbeat";

/** Which mark a call has. */
export const markOfCall = (call: Pick<Schemas["Heartbeat"], "kind">): string =>
  ({ success: "up", start: "pending", fail: "down" })[call.kind];

/** Waits at most ten seconds, tries again, and is quiet unless that fails. */
const CURL = "curl -fsS -m 10 --retry 5 -o /dev/null";

/** How a job calls, ready to be pasted. `cron` is the schedule that the monitor has, if it has one. */
export function callLines(url: string, cron: string | null): { of: string; says: string; text: string }[] {
  return [
    { of: "the call", says: "At the end of a script", text: `${CURL} ${url}` },
    {
      of: "the crontab line",
      says: "In a crontab, with the exit code",
      text: `${cron ?? "0 * * * *"} /usr/local/bin/job; ${CURL} ${url}/$?`,
    },
    {
      of: "the systemd line",
      says: "In the [Service] part of a systemd unit",
      text: `ExecStopPost=/usr/bin/${CURL} ${url}/\${EXIT_STATUS}`,
    },
    {
      of: "the call with output",
      says: "Timed, and with what it printed when it fails",
      text: `${CURL} ${url}/start; out=$(/usr/local/bin/job 2>&1); ${CURL} --data-raw "$out" ${url}/$?`,
    },
  ];
}
