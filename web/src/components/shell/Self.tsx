import { api } from "../../api/client";
import { count, duration, plural } from "../../lib/format";

/** Quorate's own health, at the foot of the rail. */
export function Self() {
  const health = api.useQuery("get", "/api/v1/health");
  if (health.isError) return "Quorate's own health is not known.";
  if (!health.data) return null;
  const { problems, coordinators, notices, agents } = health.data;
  if (problems.length > 0)
    return (
      <ul>
        {problems.slice(0, 3).map((problem) => (
          <li key={problem.code + problem.message} className="strong">
            {problem.message}
          </li>
        ))}
        {problems.length > 3 && <li>and {count(problems.length - 3)} more</li>}
      </ul>
    );
  return (
    <>
      Quorate itself is well.
      <br />
      {plural(coordinators.length, "coordinator")}, {plural(agents.online, "agent")}.
      <br />
      {notices.waiting === 0
        ? "No alert is waiting."
        : `${plural(notices.waiting, "alert")} waiting${notices.oldest_due_ms ? `, for ${duration(notices.oldest_due_ms / 1000)}` : ""}.`}
    </>
  );
}
