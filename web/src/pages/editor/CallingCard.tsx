import { Card } from "../../components/Card";

/** What happens once a heartbeat is saved. */
export function CallingCard({ saved }: { saved: boolean }) {
  return (
    <Card title="How it works">
      <div className="body stack">
        <p>
          {saved
            ? "The job calls the address that the monitor’s page shows."
            : "Once it is added, the monitor’s page shows an address of its own. The job calls it when it is done."}
        </p>
        <p className="soft">
          It is pending until the first call, and down when a call does not come in time or says that the job failed.
          The next success ends that. No location probes it and nobody votes.
        </p>
        <p className="soft">
          With <code>/start</code> the job says that it begins, so that its runs are timed; with <code>/fail</code> or
          its exit code, that it failed.
        </p>
      </div>
    </Card>
  );
}
