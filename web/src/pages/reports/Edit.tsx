import { useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Page } from "../../components/Page";
import { Empty, Failed, Loading } from "../../components/Status";
import { ownZone } from "../../lib/zones";
import { draftOf, emptyDraft } from "./draft";
import { Form } from "./Form";

/** Adds a schedule; `?slo=` names the one that it was asked for on. */
export function NewSchedulePage() {
  const role = useRole();
  const [params] = useSearchParams();
  const [id] = useState(params.get("slo") ?? "");
  const slo = api.useQuery("get", "/api/v1/slos/{id}", { params: { path: { id } } }, { enabled: id !== "" });
  const known = slo.data ? [slo.data] : [];
  const ready = id === "" || slo.data || slo.isError;
  return (
    <Page crumbs={[{ word: "Reports", to: "/reports" }, { word: "Add a schedule" }]}>
      <h1>Add a schedule</h1>
      {!role("editor") && <NotAllowed />}
      {role("editor") && !ready && <Loading rows={6} />}
      {role("editor") && ready && (
        <Form
          initial={emptyDraft(
            ownZone(),
            known.map((one) => one.id),
          )}
          chosen={known}
        />
      )}
    </Page>
  );
}

/** Changes one. */
export function EditSchedulePage() {
  const { id = "" } = useParams();
  const schedules = api.useQuery("get", "/api/v1/reports/schedules");
  const found = schedules.data?.items.find((one) => one.id === id);
  if (found) return <Known key={found.id} read={found} />;
  return (
    <Page crumbs={[{ word: "Reports", to: "/reports" }, { word: "Schedule" }]}>
      <h1>{schedules.data ? "There is no such schedule." : "Schedule"}</h1>
      {schedules.isPending && <Loading rows={6} />}
      {schedules.isError && <Failed error={schedules.error} retry={() => void schedules.refetch()} />}
      {schedules.data && (
        <p className="pad-phone">
          It may have been deleted. <Link to="/reports">All reports</Link>
        </p>
      )}
    </Page>
  );
}

function Known({ read }: { read: Schemas["ReportSchedule"] }) {
  const role = useRole();
  // The form works on what it was opened with: a change by others is refused when saved, and not mixed in.
  const [schedule] = useState(read);
  return (
    <Page crumbs={[{ word: "Reports", to: "/reports" }, { word: schedule.name }]}>
      <h1>Change {schedule.name}</h1>
      {role("editor") ? (
        <Form initial={draftOf(schedule)} chosen={schedule.slos} schedule={schedule} />
      ) : (
        <NotAllowed />
      )}
    </Page>
  );
}

function NotAllowed() {
  return <Empty>Your role shows reports; an editor can change what is sent.</Empty>;
}
