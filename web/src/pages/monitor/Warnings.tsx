import { Link, useLocation, useNavigate } from "react-router";
import type { Schemas } from "../../api/client";
import { Button } from "../../components/Button";

type Monitor = Pick<Schemas["Monitor"], "id" | "warnings">;

/** Right after saving: what is worth a second look in the settings. None of it is refused. */
export function Warnings({ of: monitor }: { of: Monitor }) {
  const { state } = useLocation() as { state: { saved?: boolean } | null };
  const navigate = useNavigate();
  if (!state?.saved || monitor.warnings.length === 0) return null;
  return (
    <section className="note" aria-label="Worth a look">
      <div>
        <b>Saved. Worth a look:</b>
        <WarningWords of={monitor} />
        <p className="row">
          <Link to={`/monitors/${monitor.id}/edit`}>Change it</Link>
          <Button compact onClick={() => navigate(".", { replace: true, state: null })}>
            Leave it so
          </Button>
        </p>
      </div>
    </section>
  );
}

export function WarningWords({ of: { warnings } }: { of: Pick<Monitor, "warnings"> }) {
  return (
    <ul className="plain">
      {warnings.map((warning) => (
        <li key={warning.code + warning.message}>{warning.message}</li>
      ))}
    </ul>
  );
}
