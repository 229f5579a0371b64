//! SLOs as they stand now: an evaluation from stored state, kept for lists and gauges, and incidents of rules
//! that fire and budgets that are spent. Lock order: the SLO's row, then its incidents.

mod document;
mod freeze;
mod tell;

use std::collections::BTreeMap;

use jiff::Timestamp;
use sqlx::PgConnection;

pub use self::document::document;
pub use self::freeze::{freeze_closed, refreeze};
use crate::domain::slo::{
    alert,
    burn::Standing,
    evaluate::{Inputs, evaluate},
    report::Report,
};
use crate::store::{
    self,
    slo_evaluations::{EvaluationRow, StandingRow},
    slo_inputs::{self, View},
    slos::SloRow,
};

/// Evaluates the present window of an SLO, whose row the caller has locked, keeps what came of it, and tells
/// whoever is to hear of it.
pub async fn refresh(conn: &mut PgConnection, slo: &SloRow, now: Timestamp) -> sqlx::Result<()> {
    let view = View { brief: true, ..View::current(now) };
    let Some((definition, mut inputs)) = slo_inputs::read(conn, slo, view).await? else {
        return Ok(());
    };
    let before = store::slo_evaluations::standings(conn, slo.key).await?;
    inputs.standings = before.iter().map(|(name, row)| (name.clone(), standing(row))).collect();
    let Some(report) = evaluate(&definition, &inputs) else { return Ok(()) };
    let after = settle(conn, slo, &report, &before, now).await?;
    store::slo_evaluations::save_standings(conn, slo.key, &after).await?;
    let row = evaluation(slo, &report, &inputs, now)?;
    store::slo_evaluations::save(conn, &row).await
}

/// Ends what is open of an SLO that is being deleted, whose row the caller has locked.
pub async fn close(conn: &mut PgConnection, slo: &SloRow, now: Timestamp) -> sqlx::Result<()> {
    for (name, row) in store::slo_evaluations::standings(conn, slo.key).await? {
        if let Some(incident) = row.incident {
            tell::drop_alert(conn, slo, &name, incident, "deleted", now).await?;
        }
    }
    store::slo_evaluations::save_standings(conn, slo.key, &BTreeMap::new()).await
}

fn standing(row: &StandingRow) -> Standing {
    Standing { firing_since: row.firing_since.map(Timestamp::as_millisecond), frozen: row.frozen }
}

/// How the rules stand after an evaluation, with their incidents; those of rules that are gone are closed.
async fn settle(
    conn: &mut PgConnection,
    slo: &SloRow,
    report: &Report,
    before: &BTreeMap<String, StandingRow>,
    now: Timestamp,
) -> sqlx::Result<BTreeMap<String, StandingRow>> {
    let mut after = BTreeMap::new();
    for seen in alert::of(report) {
        let alert = report.alerts.iter().find(|alert| alert.rule == seen.name);
        let firing_since = alert.and_then(|alert| alert.since.as_deref()?.parse().ok());
        let open = before.get(&seen.name).and_then(|row| row.incident);
        let since = firing_since.unwrap_or(now);
        let incident = tell::settle(conn, slo, &seen, open, since, now).await?;
        let frozen = alert.is_some_and(|alert| alert.frozen);
        after.insert(seen.name, StandingRow { firing_since, frozen, incident });
    }
    for (name, row) in before.iter().filter(|(name, _)| !after.contains_key(*name)) {
        if let Some(incident) = row.incident {
            tell::drop_alert(conn, slo, name, incident, "the rule was removed", now).await?;
        }
    }
    Ok(after)
}

fn evaluation(
    slo: &SloRow,
    report: &Report,
    inputs: &Inputs,
    now: Timestamp,
) -> sqlx::Result<EvaluationRow> {
    let encode = |e: serde_json::Error| sqlx::Error::Encode(e.into());
    let state = serde_json::to_value(report.state).map_err(encode)?;
    let instant = |text: &str| text.parse::<Timestamp>().unwrap_or(now);
    let budget = &report.budget;
    Ok(EvaluationRow {
        slo: slo.key,
        evaluated_at: now,
        watermark: slo_inputs::instant(inputs.watermark),
        window_start: instant(&report.window.start),
        window_end: instant(&report.window.end),
        definition_revision: slo.definition_revision,
        data_revision: report.data_revision.unwrap_or(0),
        state: state.as_str().unwrap_or_default().to_owned(),
        ratio: report.availability.ratio,
        pct: report.availability.pct.clone(),
        met: report.availability.met,
        coverage: report.coverage.ratio,
        budget_total: budget.total_ms.map(|ms| ms as f64).or(budget.total),
        budget_left: budget.remaining_ms.or(budget.remaining),
        consumed_ratio: budget.consumed_ratio,
        remaining_ratio: budget.remaining_ratio,
        burn: serde_json::to_value(&report.burn).map_err(encode)?,
        alerts: serde_json::to_value(&report.alerts).map_err(encode)?,
    })
}
