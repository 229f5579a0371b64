import { useRole } from "../../api/session";
import { Page } from "../../components/Page";
import { AlertsCard } from "./Alerts";
import { DeadmanCard } from "./Deadman";
import { GeneralCard } from "./General";
import { MailCard } from "./Mail";
import { SecretsCard } from "./Secrets";

/** Settings of the whole installation. */
export function SettingsPage() {
  const role = useRole();
  return (
    <Page crumbs={[{ word: "Settings" }]}>
      <h1>Settings</h1>
      <GeneralCard />
      <AlertsCard />
      <DeadmanCard />
      {role("admin") && <MailCard />}
      {role("editor") && <SecretsCard />}
    </Page>
  );
}
