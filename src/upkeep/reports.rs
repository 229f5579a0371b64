//! Scheduled reports: made when they are due, kept, and put into the outbox, in one transaction.

use jiff::Timestamp;
use sqlx::{PgConnection, PgPool};

use crate::domain::cron;
use crate::domain::slo::{asked::Asked, context::Document, document::Objective, window::Window};
use crate::store::{
    self,
    report_schedules::{NewSent, ScheduleRow},
    slo_inputs::{self, View},
    slo_reports::{RevisionRow, Which},
    slos::SloRow,
};
use crate::triage;

/// Makes the reports of one schedule that is due; true when there may be more. One that was due while nobody
/// served is made once, late.
pub(super) async fn step(pool: &PgPool, now: Timestamp) -> sqlx::Result<bool> {
    let mut tx = pool.begin().await?;
    let Some(schedule) = store::report_schedules::due(&mut tx, now).await? else {
        return Ok(false);
    };
    let due_at = schedule.next_at.unwrap_or(now);
    for slo in store::slos::by_keys(&mut tx, &schedule.values.slos).await? {
        make(&mut tx, &schedule, &slo, due_at, now).await?;
    }
    // One that is switched off was only asked for this once.
    let next = cron::next(&schedule.values.cron, &schedule.values.timezone, now).ok();
    let next = next.filter(|_| schedule.values.enabled);
    store::report_schedules::set_next(&mut tx, schedule.key, next).await?;
    tx.commit().await?;
    tracing::info!(
        schedule = schedule.values.name,
        next = next.map(|at| at.to_string()),
        "reports made"
    );
    Ok(true)
}

/// The report on the last window of a calendar that is over, as it was frozen if it is; of any other window
/// as it stands.
async fn make(
    conn: &mut PgConnection,
    schedule: &ScheduleRow,
    slo: &SloRow,
    due_at: Timestamp,
    now: Timestamp,
) -> sqlx::Result<()> {
    let objective = slo_inputs::objective(slo, now)?;
    let asked = match objective.definition.window {
        Window::Calendar { .. } => Asked::Previous,
        _ => Asked::Current,
    };
    let view = View { asked, ..View::current(now) };
    let frozen = frozen(conn, slo, &objective, view).await?;
    let document = triage::slos::document(conn, slo, &objective, view, frozen).await?;
    let Some(mut document) = document else { return Ok(()) };
    let customer = schedule.values.customer.trim();
    document.context.customer = (!customer.is_empty()).then(|| customer.to_owned());
    let new = sent(schedule, slo, due_at, &document, now)?;
    store::report_schedules::keep(conn, &new, now).await?;
    Ok(())
}

/// The last revision of the window, if there is one.
async fn frozen(
    conn: &mut PgConnection,
    slo: &SloRow,
    objective: &Objective,
    view: View,
) -> sqlx::Result<Option<RevisionRow>> {
    let Some((definition, watermark)) =
        view.asked.of(&objective.definition, view.now.as_millisecond())
    else {
        return Ok(None);
    };
    let Some(bounds) = definition.window.bounds(watermark) else { return Ok(None) };
    let window_start = Some(slo_inputs::instant(bounds.start));
    let which = Which { window_start, revision: None, limit: 1 };
    Ok(store::slo_reports::list(conn, slo.key, which).await?.pop())
}

fn sent(
    schedule: &ScheduleRow,
    slo: &SloRow,
    due_at: Timestamp,
    document: &Document,
    now: Timestamp,
) -> sqlx::Result<NewSent> {
    let window = &document.report.window;
    let at = |stamp: &str| stamp.parse().unwrap_or(now);
    Ok(NewSent {
        report: store::id_at(now),
        schedule: schedule.key,
        slo: slo.key,
        due_at,
        window_start: at(&window.start),
        window_end: at(&window.end),
        document: serde_json::to_value(document).map_err(|e| sqlx::Error::Encode(e.into()))?,
        sha256: document.report.sha256.clone(),
        channel: schedule.values.channel,
    })
}
