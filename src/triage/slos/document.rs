//! The report on a window with everything that documents say beside it.

use sqlx::PgConnection;

use crate::domain::slo::{
    budget::State,
    context::{Context, Document, Month},
    document::Objective,
    evaluate::evaluate,
    report::{Report, stamp},
    window::Bounds,
};
use crate::store::{
    slo_context,
    slo_inputs::{self, View},
    slo_reports::RevisionRow,
    slos::SloRow,
};

/// As it is worked out now, or as it was frozen. None when the window lies beyond the calendar.
pub async fn document(
    conn: &mut PgConnection,
    slo: &SloRow,
    objective: &Objective,
    view: View,
    frozen: Option<RevisionRow>,
) -> sqlx::Result<Option<Document>> {
    let Some((definition, inputs)) = slo_inputs::of(conn, slo, objective, view).await? else {
        return Ok(None);
    };
    let Some(bounds) = definition.window.bounds(inputs.watermark) else { return Ok(None) };
    let context = slo_context::read(conn, slo, &definition, &inputs, bounds).await?;
    let frozen_at = frozen.as_ref().map(|row| row.frozen_at.as_millisecond());
    let report: Option<Report> =
        match frozen {
            None => evaluate(&definition, &inputs),
            Some(row) => Some(serde_json::from_value(row.report).map_err(|e| {
                sqlx::Error::Decode(format!("slo_report_revision.report: {e}").into())
            })?),
        };
    let Some(report) = report else { return Ok(None) };
    let context = Context {
        generated_at: Some(view.now.as_millisecond()),
        frozen_at,
        command: Some(command(slo, &report, bounds)),
        ..with_this_period(context, &report, bounds)
    };
    Ok(Some(Document { report, context }))
}

/// The periods before, and the one that the report is on.
fn with_this_period(mut context: Context, report: &Report, bounds: Bounds) -> Context {
    if !context.months.is_empty() {
        context.months.push(Month {
            first_day: slo_context::first_day(bounds.start, &report.slo.window.timezone),
            pct: report.availability.pct.clone(),
            met: report.availability.met.filter(|_| report.state != State::NoData),
        });
    }
    context
}

/// The request that answers the same figures as JSON.
fn command(slo: &SloRow, report: &Report, bounds: Bounds) -> String {
    let revision = match report.report_revision {
        Some(revision) => format!("&revision={revision}"),
        None => format!("&as_of={}", report.window.as_of),
    };
    let (from, to) = (stamp(bounds.start), stamp(bounds.end));
    format!("GET /api/v1/slos/{}/report?window={from}..{to}{revision}", slo.uid)
}
