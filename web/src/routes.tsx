import { createBrowserRouter, Link, Outlet, useRouteError } from "react-router";
import { Page } from "./components/Page";
import { Shell } from "./components/shell/Shell";
import { AlertingPage } from "./pages/alerting";
import { AccountPage } from "./pages/account";
import { EditMonitorPage, NewMonitorPage } from "./pages/editor";
import { SetupPage } from "./pages/enter/Setup";
import { SignInPage } from "./pages/enter/SignIn";
import { FailoverPage } from "./pages/failover";
import { EditFailoverPage, NewFailoverPage } from "./pages/failover/Edit";
import { FailoverGroupPage } from "./pages/failover/Group";
import { FleetPage } from "./pages/fleet";
import { FleetsPage } from "./pages/fleets";
import { IncidentPage } from "./pages/incident";
import { IncidentsPage } from "./pages/incidents";
import { LocationsPage } from "./pages/locations";
import { MaintenancePage } from "./pages/maintenance";
import { EditMaintenancePage, NewMaintenancePage } from "./pages/maintenanceform";
import { MonitorPage } from "./pages/monitor";
import { MonitorsPage } from "./pages/monitors";
import { OverviewPage } from "./pages/overview";
import { MorePage } from "./pages/overview/More";
import { PeoplePage } from "./pages/people";
import { ReportsPage } from "./pages/reports";
import { EditSchedulePage, NewSchedulePage } from "./pages/reports/Edit";
import { SettingsPage } from "./pages/settings";
import { SloPage } from "./pages/slo";
import { EditSloPage, NewSloPage } from "./pages/sloform";
import { SlosPage } from "./pages/slos";
import { StatusPagesPage } from "./pages/statuspages";
import { EditStatusPage, NewStatusPage } from "./pages/statuspages/Edit";
import { StatusPageOverview } from "./pages/statuspages/Overview";
import { WhatIfPage } from "./pages/whatif";

function NotFound() {
  return (
    <Page crumbs={[{ word: "Not found" }]}>
      <h1>There is no page at this address.</h1>
      <p className="pad-phone">
        It may have been deleted. <Link to="/">Back to the overview</Link>
      </p>
    </Page>
  );
}

/** A page that broke: the reason, and the way on. The rest of the app stands. */
function Broken() {
  const error = useRouteError();
  return (
    <main id="main" tabIndex={-1}>
      <h1>This page broke.</h1>
      <p className="pad-phone break">
        {error instanceof Error ? error.message : String(error)} It is a fault of Quorate's pages, not of what they
        watch.
      </p>
      <div className="actions pad-phone">
        <button type="button" className="button primary" onClick={() => window.location.reload()}>
          Load it again
        </button>
        <Link className="button" to="/">
          Overview
        </Link>
      </div>
    </main>
  );
}

/** Every page by its address. What needs no sign-in stands outside the shell. */
export const router = createBrowserRouter([
  { path: "/sign-in", element: <SignInPage /> },
  { path: "/setup/:token", element: <SetupPage /> },
  {
    element: <Shell />,
    errorElement: <Broken />,
    children: [
      {
        element: <Outlet />,
        errorElement: <Broken />,
        children: [
          { path: "/", element: <OverviewPage /> },
          { path: "/incidents", element: <IncidentsPage /> },
          { path: "/incidents/:id", element: <IncidentPage /> },
          { path: "/monitors", element: <MonitorsPage /> },
          { path: "/monitors/new", element: <NewMonitorPage /> },
          { path: "/monitors/:id", element: <MonitorPage /> },
          { path: "/monitors/:id/edit", element: <EditMonitorPage /> },
          { path: "/monitors/:id/what-if", element: <WhatIfPage /> },
          {
            path: "/certificates",
            lazy: async () => ({ Component: (await import("./pages/certificates")).CertificatesPage }),
          },
          { path: "/fleets", element: <FleetsPage /> },
          { path: "/fleets/:id", element: <FleetPage /> },
          { path: "/slos", element: <SlosPage /> },
          { path: "/slos/new", element: <NewSloPage /> },
          { path: "/slos/:id", element: <SloPage /> },
          { path: "/slos/:id/edit", element: <EditSloPage /> },
          { path: "/reports", element: <ReportsPage /> },
          { path: "/reports/schedules/new", element: <NewSchedulePage /> },
          { path: "/reports/schedules/:id", element: <EditSchedulePage /> },
          { path: "/maintenance", element: <MaintenancePage /> },
          { path: "/maintenance/new", element: <NewMaintenancePage /> },
          { path: "/maintenance/:id/edit", element: <EditMaintenancePage /> },
          { path: "/status-pages", element: <StatusPagesPage /> },
          { path: "/status-pages/new", element: <NewStatusPage /> },
          { path: "/status-pages/:id", element: <StatusPageOverview /> },
          { path: "/status-pages/:id/edit", element: <EditStatusPage /> },
          { path: "/alerting", element: <AlertingPage /> },
          { path: "/failover-groups", element: <FailoverPage /> },
          { path: "/failover-groups/new", element: <NewFailoverPage /> },
          { path: "/failover-groups/:id", element: <FailoverGroupPage /> },
          { path: "/failover-groups/:id/edit", element: <EditFailoverPage /> },
          { path: "/settings", element: <SettingsPage /> },
          { path: "/more", element: <MorePage /> },
          { path: "/locations", element: <LocationsPage /> },
          { path: "/people", element: <PeoplePage /> },
          { path: "/account", element: <AccountPage /> },
          { path: "*", element: <NotFound /> },
        ],
      },
    ],
  },
]);
