import { HeartbeatMore, HeartbeatTarget } from "./HeartbeatFields";
import type { Kind } from "./kinds";

/** A job that calls us. */
export const heartbeat: Kind = {
  kind: "heartbeat",
  label: "Heartbeat",
  says: "a job calls in time",
  probed: false,
  subjects: [],
  begun: () => true,
  toCheck: (v) => ({
    ...(v.due === "cron" ? { cron: v.cron.trim(), zone: v.zone } : v.period_s === "" ? {} : { period_s: v.period_s }),
    ...(v.grace_s === "" ? {} : { grace_s: v.grace_s }),
    ...(v.max_run_s === "" ? {} : { max_run_s: v.max_run_s }),
  }),
  fromCheck: (take) => {
    const cron = take("cron", "");
    return {
      due: cron === "" ? "every" : "cron",
      cron,
      zone: take("zone", "UTC"),
      period_s: take<number | "">("period_s", ""),
      grace_s: take<number | "">("grace_s", 300),
      max_run_s: take<number | "">("max_run_s", ""),
    };
  },
  name: () => "",
  Target: HeartbeatTarget,
  More: HeartbeatMore,
};
