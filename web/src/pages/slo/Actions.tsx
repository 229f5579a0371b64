import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button, ButtonLink } from "../../components/Button";
import { ConfirmDelete } from "../../components/Confirm";
import { tell } from "../../lib/tell";

/** The report, for everybody, and what an editor can do; a viewer sees none of that. */
export function Actions({ slo }: { slo: Schemas["Slo"] }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const role = useRole();
  const remove = api.useMutation("delete", "/api/v1/slos/{id}");
  const [deleting, setDeleting] = useState(false);
  const report = (
    <a className="button" href={`/api/v1/slos/${slo.id}/report.html`} target="_blank" rel="noreferrer">
      Report
    </a>
  );
  const exported = (
    <a className="button" href={`/api/v1/slos/${slo.id}/openslo`} download title="As OpenSLO v1, for other tools">
      Export
    </a>
  );
  if (!role("editor")) {
    return (
      <div className="actions">
        {report}
        {exported}
      </div>
    );
  }
  return (
    <div className="actions">
      {report}
      {exported}
      <ButtonLink to={`/slos/${slo.id}/edit`}>Edit</ButtonLink>
      <Button onClick={() => setDeleting(true)}>Delete…</Button>
      <ConfirmDelete
        opened={deleting}
        close={() => setDeleting(false)}
        title="Delete an SLO"
        name={slo.name}
        act={async () => {
          await remove.mutateAsync({ params: { path: { id: slo.id } } });
          tell(`${slo.name} is deleted.`);
          navigate("/slos");
          void client.invalidateQueries({ queryKey: ["get", "/api/v1/slos"] });
        }}
      >
        Its burn alerts end and are told as over. Reports that were frozen stay readable through the API. What was
        measured belongs to the monitors and stays.
      </ConfirmDelete>
    </div>
  );
}
