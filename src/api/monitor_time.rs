//! A monitor's past: which state when, and what that makes in percent.

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::{ApiError, ApiResult},
    monitor_state::key,
    monitors::MonitorState,
    request::{At, Json, Path, Query},
};
use crate::{
    domain::{availability, slo::maintenance},
    store::{self, slo_inputs, slo_state},
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_timeline)).routes(routes!(get_availability))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// 24 h before `to` unless given.
    pub from: Option<At>,
    /// Now unless given.
    pub to: Option<At>,
}

/// State intervals within [from, to), oldest first, without overlaps.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Timeline {
    pub from: At,
    pub to: At,
    pub intervals: Vec<Interval>,
    /// When Quorate itself did not run: unknown, whatever the intervals say.
    pub not_running: Vec<SpanOf>,
    pub maintenance: Vec<MaintenanceSpan>,
    /// Rises when late reports changed the past.
    pub data_revision: i32,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Interval {
    pub from: At,
    /// Null: it goes on.
    pub to: Option<At>,
    pub state: MonitorState,
    /// The votes behind it went stale; counted as unknown.
    pub evidence_stale: bool,
    pub low: bool,
    /// Learnt from reports that came late.
    pub found_late: bool,
    pub incident: Option<Uuid>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SpanOf {
    pub from: At,
    pub to: At,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct MaintenanceSpan {
    pub id: Uuid,
    pub name: String,
    pub from: At,
    pub to: At,
    pub exclude_from_slo: bool,
    /// Entered afterwards.
    pub correction: bool,
}

/// Time in each state within [from, to), in milliseconds that add up to `total_ms`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Availability {
    pub from: At,
    pub to: At,
    pub total_ms: i64,
    pub up_ms: i64,
    pub degraded_ms: i64,
    pub partial_ms: i64,
    pub down_ms: i64,
    pub unknown_ms: i64,
    pub paused_ms: i64,
    pub maintenance_ms: i64,
    /// What counts: total without paused and maintenance.
    pub counted_ms: i64,
    /// Percent of the known time in which it was not down (partial is listed apart), floored to three
    /// decimals; null without any known time.
    pub percent: Option<String>,
    /// If all unknown time had been down.
    pub percent_low: Option<String>,
    /// If all unknown time had been up.
    pub percent_high: Option<String>,
    /// Outages that began in the span.
    pub outages: u32,
    pub data_revision: i32,
}

/// State intervals.
#[utoipa::path(get, path = "/monitors/{id}/timeline", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), Span), responses((status = 200, body = Timeline)))]
async fn get_timeline(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(span): Query<Span>,
) -> ApiResult<Json<Timeline>> {
    let (from, to) = span.bounds(state.clock.now())?;
    let mut conn = state.pool.acquire().await?;
    let key = key(&mut conn, id).await?;
    let rows = store::timeline::between(&mut conn, key, from, to).await?;
    let holes = store::chores::not_running(&mut conn, from, to).await?;
    let windows = store::maintenance_occurrences::covering(&mut conn, key.0, from, to).await?;
    let clip = |at: Timestamp| At(at.clamp(from, to));
    Ok(Json(Timeline {
        from: At(from),
        to: At(to),
        intervals: rows
            .into_iter()
            .map(|row| Interval {
                from: clip(row.from_at),
                to: row.to_at.map(clip),
                state: MonitorState::from_code(row.state),
                evidence_stale: row.evidence_stale,
                low: row.low,
                found_late: row.found_late,
                incident: row.incident,
            })
            .collect(),
        not_running: holes
            .into_iter()
            .map(|(a, b)| SpanOf { from: clip(a), to: clip(b) })
            .collect(),
        maintenance: windows
            .into_iter()
            .map(|row| MaintenanceSpan {
                id: row.id,
                name: row.name,
                from: At(row.start_at),
                to: At(row.end_at),
                exclude_from_slo: row.exclude_from_slo,
                correction: row.correction,
            })
            .collect(),
        data_revision: store::timeline_read::revision(&mut conn, key).await?,
    }))
}

/// Time in each state, and the percentage with the bounds that unknown time leaves. Time before the
/// monitor was there does not count; nor does what may still be back-dated, so that `to` is a few seconds ago at
/// the latest. An SLO on the same span says the same.
#[utoipa::path(get, path = "/monitors/{id}/availability", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), Span), responses((status = 200, body = Availability)))]
async fn get_availability(
    State(state): State<AppState>,
    _viewer: Viewer,
    Path(id): Path<Uuid>,
    Query(span): Query<Span>,
) -> ApiResult<Json<Availability>> {
    let now = state.clock.now();
    let (from, to) = span.bounds(now)?;
    let mut conn = state.pool.acquire().await?;
    let key = key(&mut conn, id).await?;
    let row = store::monitors::get(&mut conn, key).await?.ok_or(ApiError::NotFound("monitor"))?;
    // The same intervals, maintenance and end as those of SLOs: what has not happened yet or may still be
    // back-dated is nothing, and neither is what was before.
    let keys = [key.0];
    let monitors = slo_state::monitors(&mut conn, &keys).await?;
    let swept_at = slo_state::swept_at(&mut conn).await?;
    let told = slo_inputs::instant(slo_inputs::told_until(&monitors, swept_at, now)?);
    let to = to.min(told);
    let from = from.max(row.created_at).min(to);
    let stretches = slo_state::intervals(&mut conn, &keys, from, to).await?.remove(&key);
    let stretches = stretches.unwrap_or_default();
    let (start, end) = (from.as_millisecond(), to.as_millisecond());
    let first = stretches.first().map_or(start, |stretch| stretch.from.min(start));
    let first = slo_inputs::instant(first);
    let holes = slo_state::not_running(&mut conn, first, to).await?;
    let names = slo_state::location_names(&mut conn).await?;
    let windows = slo_state::maintenance(&mut conn, &keys, first, to, &names).await?.remove(&key);
    let windows = maintenance::excluded(&windows.unwrap_or_default());
    let times = availability::of(start, end, &stretches, holes, windows.iter());
    Ok(Json(Availability {
        from: At(from),
        to: At(to),
        total_ms: end - start,
        up_ms: times.up,
        degraded_ms: times.degraded,
        partial_ms: times.partial,
        down_ms: times.down,
        unknown_ms: times.unknown,
        paused_ms: times.paused,
        maintenance_ms: times.maintenance,
        counted_ms: times.counted(),
        percent: times.percent(),
        percent_low: times.percent_low(),
        percent_high: times.percent_high(),
        outages: times.outages,
        data_revision: store::timeline_read::revision(&mut conn, key).await?,
    }))
}

impl Span {
    /// The span in whole milliseconds, the last 24 hours unless said otherwise.
    fn bounds(&self, now: Timestamp) -> ApiResult<(Timestamp, Timestamp)> {
        span(self.from, self.to, now)
    }
}

/// `from` and `to` as they apply: the 24 hours before `to`, and now, unless given.
pub fn span(from: Option<At>, to: Option<At>, now: Timestamp) -> ApiResult<(Timestamp, Timestamp)> {
    let whole = |at: Timestamp| Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at);
    let to = whole(to.map_or(now, |at| at.0));
    let day = SignedDuration::from_hours(24);
    let from =
        from.map_or_else(|| to.saturating_sub(day).unwrap_or(Timestamp::MIN), |at| whole(at.0));
    if from >= to {
        return Err(ApiError::invalid("from", "must be before to"));
    }
    Ok((from, to))
}
