import { NumberInput, Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { useRole } from "../../api/session";
import { Button } from "../../components/Button";
import { Card } from "../../components/Card";
import { Failed, Loading, Refusal } from "../../components/Status";
import { bytes, plural } from "../../lib/format";
import { showRefusal } from "../../lib/formErrors";
import { tell } from "../../lib/tell";

export function GeneralCard() {
  const settings = api.useQuery("get", "/api/v1/settings", undefined, { refetchInterval: false });
  return (
    <Card title="General">
      {settings.isPending && <Loading rows={3} />}
      {settings.isError && <Failed error={settings.error} retry={() => void settings.refetch()} />}
      {settings.data && (
        <General
          key={JSON.stringify([settings.data.public_url, settings.data.report_zone, settings.data.retention.raw_days])}
          settings={settings.data}
        />
      )}
    </Card>
  );
}

const zones = () => [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone")])];

function General({ settings }: { settings: Schemas["Settings"] }) {
  const client = useQueryClient();
  const role = useRole();
  const change = api.useMutation("patch", "/api/v1/settings");
  const [refused, setRefused] = useState<string | null>(null);
  const kept = settings.retention;
  const form = useForm({
    initialValues: { public_url: settings.public_url, report_zone: settings.report_zone, raw_days: kept.raw_days },
  });
  const admin = role("admin");
  const perDay = kept.raw_bytes_per_day;
  const days = Number(form.values.raw_days) || 0;
  const submit = form.onSubmit((v) => {
    setRefused(null);
    const body = {
      ...(settings.public_url_fixed || v.public_url === settings.public_url
        ? {}
        : { public_url: v.public_url.trim() === "" ? null : v.public_url.trim() }),
      report_zone: v.report_zone,
      raw_days: v.raw_days,
    };
    change.mutate(
      { body },
      {
        onSuccess: () => {
          tell("Settings saved.");
          void client.invalidateQueries();
        },
        onError: (error) => setRefused(showRefusal(form, error, (f) => (f in v ? f : null))),
      },
    );
  });
  return (
    <form className="body form" onSubmit={submit}>
      <div className="fields">
        <TextInput
          label="Address of this installation"
          description={settings.public_url_fixed ? "Given when Quorate is started." : "Links in alerts begin with it."}
          readOnly={!admin || settings.public_url_fixed}
          {...form.getInputProps("public_url")}
        />
        <Select
          label="Time zone of reports"
          description="Days and months are counted in it."
          data={zones()}
          searchable
          readOnly={!admin}
          {...form.getInputProps("report_zone")}
        />
        <NumberInput
          label="Keep raw results"
          description={
            perDay > 0
              ? `${bytes(perDay)} a day now; at this rate ${bytes(perDay * days)} in all.`
              : `Takes ${bytes(kept.raw_bytes)} now; a rate is known after the first day.`
          }
          suffix=" days"
          min={1}
          max={3650}
          readOnly={!admin}
          {...form.getInputProps("raw_days")}
        />
      </div>
      <p className="muted small">
        Quarter-hour figures are kept {plural(kept.quarter_days, "day")} and take {bytes(kept.rollup_bytes)}; state
        intervals and days are kept for ever.
      </p>
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
