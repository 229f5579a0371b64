import { createBrowserRouter, Link } from "react-router";
import { Page } from "./components/Page";
import { Shell } from "./components/shell/Shell";
import { AccountPage } from "./pages/account";
import { SetupPage } from "./pages/enter/Setup";
import { SignInPage } from "./pages/enter/SignIn";
import { LocationsPage } from "./pages/locations";
import { PeoplePage } from "./pages/people";

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

/** Every page by its address. What needs no sign-in stands outside the shell. */
export const router = createBrowserRouter([
  { path: "/sign-in", element: <SignInPage /> },
  { path: "/setup/:token", element: <SetupPage /> },
  {
    element: <Shell />,
    children: [
      { path: "/locations", element: <LocationsPage /> },
      { path: "/people", element: <PeoplePage /> },
      { path: "/account", element: <AccountPage /> },
      { path: "*", element: <NotFound /> },
    ],
  },
]);
