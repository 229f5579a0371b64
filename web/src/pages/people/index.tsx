import { Page } from "../../components/Page";
import { Tokens } from "./Tokens";
import { Users } from "./Users";

/** People and tokens: who may do what. */
export function PeoplePage() {
  return (
    <Page crumbs={[{ word: "People and tokens" }]}>
      <h1>Who may look, change and administer</h1>
      <p className="lead">
        Viewers read everything. Editors also change monitors and channels and answer incidents. Administrators also
        change locations, people, tokens and settings.
      </p>
      <Users />
      <Tokens />
    </Page>
  );
}
