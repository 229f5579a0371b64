//! When scheduled reports come: what a cron expression means, as one types it, and making them at once.

use axum::{extract::State, http::StatusCode, response::Response};
use serde::{Deserialize, Serialize};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::ApiResult,
    reports::{ReportSchedule, answer, audit, find, one},
    request::{At, Empty, Json, Look, Path},
};
use crate::{domain::cron, store};

/// How many times are told ahead.
pub const UPCOMING: usize = 3;

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(check_report_times)).routes(routes!(send_reports))
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportTimes {
    /// Minute, hour, day of the month, month, day of the week.
    pub cron: String,
    /// In which it is read.
    pub timezone: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ReportTimesAhead {
    /// The next three.
    pub upcoming: Vec<At>,
}

/// When a cron expression comes in a zone. Nothing is kept.
#[utoipa::path(post, path = "/reports/schedules/check", tag = "reports", extensions(("x-role" = json!("viewer"))),
    request_body = ReportTimes, responses((status = 200, body = ReportTimesAhead)))]
async fn check_report_times(
    State(state): State<AppState>,
    _viewer: Viewer,
    Look(asked): Look<ReportTimes>,
) -> ApiResult<Json<ReportTimesAhead>> {
    let now = state.clock.now();
    let times = cron::upcoming(&asked.cron, &asked.timezone, now, UPCOMING)?;
    Ok(Json(ReportTimesAhead { upcoming: times.into_iter().map(At).collect() }))
}

/// Makes and sends the reports of a schedule now, beside its own times, within seconds; also of one that is
/// switched off, which stays so.
#[utoipa::path(post, path = "/reports/schedules/{id}/send", tag = "reports", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)),
    responses((status = 202, body = ReportSchedule, headers(("etag" = String)))))]
async fn send_reports(
    State(state): State<AppState>,
    Editor(caller): Editor,
    Path(id): Path<Uuid>,
    _nothing: Empty,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let row = find(&mut tx, id, true).await?;
    store::report_schedules::set_next(&mut tx, row.key, Some(now)).await?;
    audit(&mut tx, &caller.name, "report.schedule.send", id, &row.values, now).await?;
    let schedule = one(&mut tx, id, now).await?;
    tx.commit().await?;
    Ok(answer(StatusCode::ACCEPTED, schedule))
}
