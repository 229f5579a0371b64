import { Link } from "react-router";
import { api } from "../../api/client";
import { Card } from "../../components/Card";
import { IncidentHead, IncidentRows } from "../../components/IncidentTable";
import { Empty, Failed, Loading } from "../../components/Status";

export function IncidentsCard({ id, name, now }: { id: string; name: string; now: number }) {
  const list = api.useQuery("get", "/api/v1/incidents", { params: { query: { monitor: id, limit: 8 } } });
  return (
    <Card
      title="Incidents"
      beside="the latest first"
      footer={list.data?.next && <Link to={`/incidents?monitor=${encodeURIComponent(name)}`}>All of them</Link>}
    >
      {list.isPending && <Loading rows={2} />}
      {list.isError && <Failed error={list.error} retry={() => void list.refetch()} />}
      {list.data?.items.length === 0 && <Empty>None so far.</Empty>}
      {list.data && list.data.items.length > 0 && (
        <table className="grid folds">
          <caption className="hidden-visually">Incidents of this monitor</caption>
          <IncidentHead bare />
          <tbody>
            <IncidentRows rows={list.data.items} now={now} bare />
          </tbody>
        </table>
      )}
    </Card>
  );
}
