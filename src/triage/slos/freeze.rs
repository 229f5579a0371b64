//! Reports on windows of the calendar that are over, as they are kept for good: the first revision 72 hours
//! after the end, when late reports have come, and another whenever the past has changed.

use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;

use crate::domain::slo::{
    asked::Asked,
    difference,
    document::Objective,
    evaluate::evaluate,
    report::Report,
    window::{Bounds, Window, period},
};
use crate::store::{
    self,
    slo_inputs::{self, View},
    slo_reports::{RevisionRow, Stale, Which},
    slos::SloRow,
};

/// A window is frozen so long after its end.
const SETTLED: SignedDuration = SignedDuration::from_hours(72);

/// Freezes the windows of an SLO, whose row the caller has locked, that ended 72 hours ago or earlier and that
/// nobody froze; at most a few at once, the oldest first. How many.
pub async fn freeze_closed(
    conn: &mut PgConnection,
    slo: &SloRow,
    now: Timestamp,
) -> sqlx::Result<u32> {
    const MOST: u32 = 4;
    let objective = slo_inputs::objective(slo, now)?;
    let mut frozen = 0;
    for bounds in open(conn, slo, &objective, now).await? {
        if frozen == MOST {
            break;
        }
        if let Some(report) = report(conn, slo, &objective, bounds, 1, now).await? {
            keep(conn, slo, &report, bounds, 1, serde_json::json!([]), now).await?;
            frozen += 1;
        }
    }
    Ok(frozen)
}

/// Works a frozen window out again, because the data behind it have moved on: a new revision if the report says
/// something else now.
pub async fn refreeze(
    conn: &mut PgConnection,
    slo: &SloRow,
    stale: &Stale,
    now: Timestamp,
) -> sqlx::Result<()> {
    let objective = slo_inputs::objective(slo, now)?;
    let bounds = Bounds {
        start: stale.window_start.as_millisecond(),
        end: stale.window_end.as_millisecond(),
    };
    let which =
        Which { window_start: Some(stale.window_start), revision: Some(stale.revision), limit: 1 };
    let Some(old) = store::slo_reports::list(conn, slo.key, which).await?.pop() else {
        return Ok(());
    };
    let next = stale.revision + 1;
    let Some(report) = report(conn, slo, &objective, bounds, next, now).await? else {
        return Ok(());
    };
    let value = serde_json::to_value(&report).map_err(|e| sqlx::Error::Encode(e.into()))?;
    let differences = difference::between(&old.report, &value);
    if differences.is_empty() {
        let data_revision = report.data_revision.unwrap_or(0);
        return store::slo_reports::checked(conn, slo.key, stale.window_start, data_revision).await;
    }
    let diff = serde_json::to_value(differences).map_err(|e| sqlx::Error::Encode(e.into()))?;
    keep(conn, slo, &report, bounds, next, diff, now).await
}

/// Windows that are settled and not frozen, the oldest first: from the one after the last that was frozen, or
/// from the one in which the SLO was made.
async fn open(
    conn: &mut PgConnection,
    slo: &SloRow,
    objective: &Objective,
    now: Timestamp,
) -> sqlx::Result<Vec<Bounds>> {
    const MOST: usize = 400;
    let Window::Calendar { unit, zone, anchor } = &objective.definition.window else {
        return Ok(Vec::new());
    };
    let last = store::slo_reports::list(conn, slo.key, Which { limit: 1, ..Which::default() });
    let from = match last.await?.pop() {
        Some(row) => row.window_end,
        None => slo.created_at,
    };
    let settled = now.saturating_sub(SETTLED).unwrap_or(now).as_millisecond();
    let mut at = from.as_millisecond();
    let mut all = Vec::new();
    while let Some(bounds) = period(*unit, zone, *anchor, at).filter(|b| b.end <= settled) {
        all.push(bounds);
        at = bounds.end;
        if all.len() == MOST {
            break;
        }
    }
    Ok(all)
}

async fn report(
    conn: &mut PgConnection,
    slo: &SloRow,
    objective: &Objective,
    bounds: Bounds,
    revision: i32,
    now: Timestamp,
) -> sqlx::Result<Option<Report>> {
    let view = View { asked: Asked::Between(bounds), ..View::current(now) };
    let Some((definition, mut inputs)) = slo_inputs::of(conn, slo, objective, view).await? else {
        return Ok(None);
    };
    if inputs.watermark < bounds.end {
        // Something from before its end is still open to change.
        return Ok(None);
    }
    inputs.identity.report_revision = Some(revision.into());
    Ok(evaluate(&definition, &inputs))
}

async fn keep(
    conn: &mut PgConnection,
    slo: &SloRow,
    report: &Report,
    bounds: Bounds,
    revision: i32,
    diff: serde_json::Value,
    now: Timestamp,
) -> sqlx::Result<()> {
    let data_revision = report.data_revision.unwrap_or(0);
    let row = RevisionRow {
        window_start: slo_inputs::instant(bounds.start),
        window_end: slo_inputs::instant(bounds.end),
        revision,
        report: serde_json::to_value(report).map_err(|e| sqlx::Error::Encode(e.into()))?,
        sha256: report.sha256.clone(),
        definition_revision: slo.definition_revision,
        data_revision,
        diff,
        frozen_at: now,
    };
    store::slo_reports::insert(conn, slo.key, &row).await?;
    store::slo_reports::checked(conn, slo.key, row.window_start, data_revision).await
}
