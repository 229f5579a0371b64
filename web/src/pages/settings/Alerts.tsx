import { NativeSelect, NumberInput, Switch, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { Failed, Loading, Refusal } from "../../components/Status";
import { daysRule, parseDays, writeDays } from "../../lib/certificates";
import { plural } from "../../lib/format";
import { showRefusal } from "../../lib/formErrors";
import { tell } from "../../lib/tell";

/** Settings → Alerts: what nobody takes, what is told together, and when that a certificate ends. */
export function AlertsCard() {
  const settings = api.useQuery("get", "/api/v1/settings/alerts", undefined, { refetchInterval: false });
  const channels = api.useQuery("get", "/api/v1/channels");
  const data = settings.data;
  return (
    <Card
      title="Alerts"
      beside={
        data && data.fallback_notices_24h > 0
          ? `${plural(data.fallback_notices_24h, "notice")} went to the fallback channel in 24 h`
          : undefined
      }
    >
      {settings.isPending && <Loading rows={2} />}
      {settings.isError && <Failed error={settings.error} retry={() => void settings.refetch()} />}
      {data && channels.data && (
        <Form
          key={[data.fallback?.id, data.storm_monitors, data.certificate_days, data.certificate_issuer].join(" ")}
          settings={data}
          channels={channels.data.items}
        />
      )}
    </Card>
  );
}

/** The form's field for one of the API's: a value of a list belongs to the list. */
function fieldOf(path: string): string {
  return path.replace(/\[\d+\]$/, "");
}

function Form({ settings, channels }: { settings: Schemas["AlertSettings"]; channels: readonly Schemas["Channel"][] }) {
  const client = useQueryClient();
  const admin = useRole()("admin");
  const change = api.useMutation("patch", "/api/v1/settings/alerts");
  const [refused, setRefused] = useState<string | null>(null);
  const form = useForm({
    initialValues: {
      fallback: settings.fallback?.id ?? "",
      storm_monitors: settings.storm_monitors as number | "",
      certificate_days: writeDays(settings.certificate_days),
      certificate_issuer: settings.certificate_issuer,
    },
    validate: { certificate_days: daysRule },
  });
  const submit = form.onSubmit((v) => {
    setRefused(null);
    const days = parseDays(v.certificate_days) ?? [];
    const body = {
      fallback: v.fallback === "" ? null : v.fallback,
      storm_monitors: v.storm_monitors || 0,
      // Left empty it goes back to the days that were there at first.
      certificate_days: days.length === 0 ? null : days,
      certificate_issuer: v.certificate_issuer,
    };
    change.mutate(
      { body },
      {
        onSuccess: () => {
          tell("Alert settings saved.");
          void client.invalidateQueries();
        },
        onError: (error) => setRefused(showRefusal(form, error, (f) => (fieldOf(f) in v ? fieldOf(f) : null))),
      },
    );
  });
  return (
    <form className="body form" onSubmit={submit}>
      <div className="fields">
        <NativeSelect
          label="Fallback channel"
          description="Hears what no other channel has taken within 2 min. Best one that fails for other reasons than the rest."
          disabled={!admin}
          data={[
            { value: "", label: "None" },
            ...channels.map((channel) => ({
              value: channel.id,
              label: channel.enabled ? channel.name : `${channel.name} (switched off)`,
            })),
          ]}
          {...form.getInputProps("fallback")}
        />
        <NumberInput
          label="Told together from"
          description="So many monitors that go down within 60 s and share a domain, network, label, group or parent are one alert. 0: never."
          suffix=" monitors"
          min={0}
          max={1000}
          readOnly={!admin}
          {...form.getInputProps("storm_monitors")}
        />
        <TextInput
          label="A certificate ends: told at"
          description="Days left, with commas between: each is told once for each certificate. A monitor may have its own. Left empty: 30, 14, 7, 3, 1."
          placeholder="30, 14, 7, 3, 1"
          inputMode="numeric"
          readOnly={!admin}
          {...form.getInputProps("certificate_days")}
        />
        <Switch
          label="Tell when a certificate comes from another issuer"
          description="Once for each change. An authority's next intermediate certificate is no change."
          disabled={!admin}
          {...form.getInputProps("certificate_issuer", { type: "checkbox" })}
        />
      </div>
      {refused && <Refusal>{refused}</Refusal>}
      {admin && (
        <div className="actions">
          <Button primary type="submit" busy={change.isPending}>
            Save
          </Button>
        </div>
      )}
    </form>
  );
}
