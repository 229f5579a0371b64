//! SLOs in `/metrics` (spec: slo 5.3), from their stored evaluations: the same numbers as in lists and reports
//! at that watermark. A figure about which nothing can be said is left out.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sqlx::PgConnection;

use super::{
    error::ApiResult,
    exposition::{Exposition, Kind},
    metrics::{number, stamp},
};
use crate::{
    domain::slo::{
        definition::Definition,
        ratio::target_percent,
        report::{Alert, BurnOf},
    },
    store::{self, slo_evaluations::EvaluationRow, slo_inputs, slos::SloRow},
};

struct One {
    row: SloRow,
    definition: Definition,
    window: String,
    /// By the present definition.
    seen: Option<EvaluationRow>,
}

impl One {
    fn labels(&self) -> [(&str, &str); 2] {
        [("slo", &self.row.values.name), ("service", &self.row.values.service)]
    }

    fn windowed(&self) -> [(&str, &str); 3] {
        let [slo, service] = self.labels();
        [slo, service, ("window", &self.window)]
    }
}

pub async fn write(
    page: &mut Exposition,
    conn: &mut PgConnection,
    now: Timestamp,
) -> ApiResult<()> {
    let all = read(conn, now).await?;
    describe(page, &all);
    figures(page, &all);
    burns(page, &all);
    Ok(())
}

async fn read(conn: &mut PgConnection, now: Timestamp) -> ApiResult<Vec<One>> {
    let keys = store::metrics_read::slos(conn).await?;
    let mut seen: BTreeMap<i32, EvaluationRow> = store::slo_evaluations::of(conn, &keys)
        .await?
        .into_iter()
        .map(|row| (row.slo.0, row))
        .collect();
    let mut all = Vec::with_capacity(keys.len());
    for row in store::slos::by_keys(conn, &keys).await? {
        // One that cannot be read hides itself, not the rest.
        let Ok(objective) = slo_inputs::objective(&row, now) else {
            tracing::warn!(slo = %row.uid, "a stored definition cannot be read");
            continue;
        };
        let window = &objective.definition.window;
        let seen = seen
            .remove(&row.key.0)
            .filter(|seen| seen.definition_revision == row.definition_revision);
        all.push(One {
            window: window.duration().unwrap_or_else(|| window.kind().to_owned()),
            definition: objective.definition,
            seen,
            row,
        });
    }
    all.sort_by(|a, b| a.row.values.name.cmp(&b.row.values.name));
    Ok(all)
}

fn describe(page: &mut Exposition, all: &[One]) {
    let mut info = page.family(Kind::Info, "quorate_slo", "What an objective is");
    for one in all {
        let [slo, service, window] = one.windowed();
        let target = target_percent(one.definition.target.ppb());
        let revision = one.row.definition_revision.to_string();
        let labels = [
            slo,
            service,
            ("sli", one.definition.sli.name()),
            ("target", &*target),
            window,
            ("timezone", &*one.definition.timezone),
            ("definition_revision", &*revision),
        ];
        info.add(&labels, 1.0);
    }
    let mut objective =
        page.family(Kind::Gauge, "quorate_slo_objective_ratio", "The share that is promised");
    for one in all {
        objective.add_if(&one.labels(), one.definition.target.ratio().to_f64());
    }
}

fn figures(page: &mut Exposition, all: &[One]) {
    let mut figure = |name: &str, help, value: fn(&EvaluationRow, bool) -> Option<f64>| {
        let mut family = page.family(Kind::Gauge, &format!("quorate_slo_{name}"), help);
        for one in all {
            let is_time = one.definition.sli.is_time();
            let value = one.seen.as_ref().and_then(|seen| value(seen, is_time));
            family.add_if(&one.windowed(), value);
        }
    };
    figure("sli_ratio", "The share that was achieved in the window", |seen, _| seen.ratio);
    figure("coverage_ratio", "The share of the window of which it is known", |seen, _| {
        seen.coverage
    });
    figure("error_budget_seconds", "How long it may be bad in the window", |seen, is_time| {
        seen.budget_total.filter(|_| is_time).map(|ms| ms / 1e3)
    });
    figure("error_budget_remaining_seconds", "What is left of that", |seen, is_time| {
        seen.budget_left.filter(|_| is_time).map(|ms| ms as f64 / 1e3)
    });
    figure("error_budget_events", "How many events may be bad in the window", |seen, is_time| {
        seen.budget_total.filter(|_| !is_time)
    });
    figure("error_budget_remaining_events", "What is left of that", |seen, is_time| {
        seen.budget_left.filter(|_| !is_time).map(|n| n as f64)
    });
    figure("error_budget_remaining_ratio", "The share of the budget that is left", |seen, _| {
        seen.remaining_ratio
    });
    let mut watermark = page.family(
        Kind::Gauge,
        "quorate_slo_watermark_timestamp_seconds",
        "Up to when the figures of an objective reach",
    );
    for one in all {
        let at = one.seen.as_ref().map(|seen| stamp(seen.watermark));
        watermark.add_if(&[("slo", &one.row.values.name)], at);
    }
}

fn burns(page: &mut Exposition, all: &[One]) {
    let mut rate = page.family(
        Kind::Gauge,
        "quorate_slo_burn_rate_ratio",
        "How many times faster than allowed the budget was used",
    );
    for one in all {
        for burn in parts::<BurnOf>(one.seen.as_ref().map(|seen| &seen.burn)) {
            let [slo, service] = one.labels();
            rate.add_if(&[slo, service, ("lookback", &burn.lookback)], burn.rate);
        }
    }
    let mut firing =
        page.family(Kind::Gauge, "quorate_slo_alert_firing", "Whether a burn-rate rule fires");
    for one in all {
        for alert in parts::<Alert>(one.seen.as_ref().map(|seen| &seen.alerts)) {
            let severity = serde_json::to_value(alert.severity).unwrap_or_default();
            let labels = [
                ("slo", &*one.row.values.name),
                ("rule", &*alert.rule),
                ("severity", severity.as_str().unwrap_or_default()),
            ];
            firing.add(&labels, number(alert.firing));
        }
    }
}

/// A stored list; what cannot be read is left out.
fn parts<T: serde::de::DeserializeOwned>(stored: Option<&serde_json::Value>) -> Vec<T> {
    stored.and_then(|list| serde_json::from_value(list.clone()).ok()).unwrap_or_default()
}
