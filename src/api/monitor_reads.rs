//! What is known about one monitor: its state and why, decisions, timeline, results, latency,
//! availability.

use std::collections::BTreeMap;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::ApiResult,
    monitors::{LocationRef, MonitorState, VoteWord},
    request::{At, Json, List, Path, Query},
    setup::later,
};
use crate::domain::observation::{Class, Observation, Outcome, Phases, RunKind};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(get_monitor_state))
        .routes(routes!(list_decisions))
        .routes(routes!(get_timeline))
        .routes(routes!(list_observations))
        .routes(routes!(get_series))
        .routes(routes!(get_availability))
}

/// The state and everything it follows from.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct StateReport {
    pub monitor: Uuid,
    /// The instant that ages are told at.
    pub now: At,
    pub state: MonitorState,
    pub since: At,
    /// Low confidence: down was entered with locations missing from the count.
    pub low: bool,
    pub evidence_stale: bool,
    pub flapping: bool,
    /// More locations are impaired than may be set aside, so nobody is.
    pub locations_in_doubt: bool,
    pub maintenance: Option<RunningMaintenance>,
    /// The open incident.
    pub incident: Option<Uuid>,
    /// Configured locations.
    pub n: u32,
    /// Votes that count.
    pub e: u32,
    /// Fewest votes that may count for a verdict.
    pub e_min: u32,
    /// How many must agree that it is down.
    pub q: u32,
    /// How many see it down.
    pub d: u32,
    /// `up degraded_slow degraded_intermittent partial down down_low undecided insufficient`
    pub verdict: String,
    /// `local:NAME`, `domain_suspect`
    pub flag: Option<String>,
    /// A change that has begun and must hold before it is made.
    pub hold: Option<Hold>,
    pub scope: Option<Scope>,
    /// One per configured location, in order.
    pub votes: Vec<Vote>,
    /// One sentence: what, how many of how many, how many are needed, what failing ones share.
    pub explanation: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RunningMaintenance {
    pub id: Uuid,
    pub name: String,
    pub end: At,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Hold {
    pub toward: MonitorState,
    pub since: At,
    pub until: At,
    /// The votes do not point there at the moment.
    pub paused: bool,
}

/// What the locations that see it down have in common.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Scope {
    /// `global region domain edge split`
    pub kind: String,
    /// `address`, `region`, `domain`, …; null when there is nothing to name.
    pub attribute: Option<String>,
    pub values: Vec<String>,
}

/// One row of the votes table.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Vote {
    pub location: LocationRef,
    pub vote: VoteWord,
    /// The run that is going on; null before the first result.
    pub run: Option<Run>,
    /// When the vote took its present value.
    pub since: Option<At>,
    /// Of the last result.
    pub outcome: Option<Outcome>,
    pub class: Option<Class>,
    /// What it saw, in a few words: `503`, `Connection refused`, `412 ms`.
    pub saw: String,
    pub latency_ms: Option<f64>,
    /// The address it reached.
    pub address: Option<String>,
    /// The address is one that only failing locations reached.
    pub address_shared_by_failing: bool,
    pub at: Option<At>,
    pub age_ms: Option<i64>,
    pub stale_after_s: f64,
    pub counts: bool,
    /// Why it does not count: `no_result stale disabled quarantined distrusted divergent`
    pub why_not: Option<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Run {
    pub outcome: Outcome,
    pub count: u32,
    /// So many in a row change the vote.
    pub needed: u32,
    pub since: At,
}

/// A decision: a vote changed, and the state with it or not.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Decision {
    pub id: i64,
    pub at: At,
    pub rule: String,
    pub state: MonitorState,
    /// False: it was decided to stay.
    pub changed: bool,
    pub sentence: String,
    /// What it was decided from; enough to do it again.
    #[schema(value_type = Object)]
    pub inputs: serde_json::Value,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListDecisions {
    pub from: Option<At>,
    pub to: Option<At>,
    /// Only those that changed the state, or only those that did not.
    pub changed: Option<bool>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
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
}

/// One raw result.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ObservationRow {
    /// Start of the attempt.
    pub at: At,
    pub location: Uuid,
    pub location_name: String,
    pub kind: RunKind,
    pub outcome: Outcome,
    pub class: Option<Class>,
    pub status: Option<i16>,
    pub phases_us: Phases,
    pub size: Option<i32>,
    pub check_version: i32,
    /// `folded`, `freshness`, or why it is history only.
    pub disposition: String,
    /// Sentence and evidence; for failures and errors only.
    pub detail: Option<Observation>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListObservations {
    pub from: Option<At>,
    pub to: Option<At>,
    /// Id or name.
    pub location: Option<String>,
    pub outcome: Option<Outcome>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SeriesQuery {
    pub from: Option<At>,
    pub to: Option<At>,
    /// Seconds per point; chosen so that there are about 200 points unless given.
    pub step: Option<u32>,
    /// Id or name; all of them unless given.
    pub location: Option<String>,
}

/// Counts and latency of passes over time.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Series {
    pub from: At,
    pub to: At,
    pub step_s: u32,
    /// `raw`, or `rollup` (quarter hours) where the span is longer than a day.
    pub source: String,
    /// All locations together.
    pub all: Vec<Point>,
    pub locations: Vec<LocationSeries>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct LocationSeries {
    pub location: Uuid,
    pub name: String,
    pub points: Vec<Point>,
}

/// One step. Steps without a result are left out: a gap is a gap.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Point {
    pub at: At,
    pub runs: i64,
    pub passes: i64,
    pub fails: i64,
    pub errors: i64,
    /// Of passes, microseconds.
    pub p50_us: Option<i64>,
    pub p95_us: Option<i64>,
    pub p99_us: Option<i64>,
    /// Mean microseconds per phase, from raw results only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub phases_us: BTreeMap<String, i64>,
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
    /// Percent available (up and degraded; partial counts half lost as policy says: fully available here
    /// and listed apart), floored to three decimals; null without any known time.
    pub percent: Option<String>,
    /// If all unknown time had been down.
    pub percent_low: Option<String>,
    /// If all unknown time had been up.
    pub percent_high: Option<String>,
    /// Outages that began in the span.
    pub outages: u32,
    pub data_revision: i32,
}

/// The state, the votes and the sentence that explains it.
#[utoipa::path(get, path = "/monitors/{id}/state", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = StateReport)))]
async fn get_monitor_state(
    State(_state): State<AppState>,
    _caller: Viewer,
    _id: Path<Uuid>,
) -> ApiResult<Json<StateReport>> {
    later()
}

/// Every time a vote changed, the latest first: what was decided and why.
#[utoipa::path(get, path = "/monitors/{id}/decisions", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), ListDecisions), responses((status = 200, body = List<Decision>)))]
async fn list_decisions(
    State(_state): State<AppState>,
    _caller: Viewer,
    _id: Path<Uuid>,
    Query(_query): Query<ListDecisions>,
) -> ApiResult<Json<List<Decision>>> {
    later()
}

/// State intervals.
#[utoipa::path(get, path = "/monitors/{id}/timeline", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), Span), responses((status = 200, body = Timeline)))]
async fn get_timeline(
    State(_state): State<AppState>,
    _caller: Viewer,
    _id: Path<Uuid>,
    Query(_query): Query<Span>,
) -> ApiResult<Json<Timeline>> {
    later()
}

/// Raw results, the latest first.
#[utoipa::path(get, path = "/monitors/{id}/observations", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), ListObservations), responses((status = 200, body = List<ObservationRow>)))]
async fn list_observations(
    State(_state): State<AppState>,
    _caller: Viewer,
    _id: Path<Uuid>,
    Query(_query): Query<ListObservations>,
) -> ApiResult<Json<List<ObservationRow>>> {
    later()
}

/// Counts and latency percentiles over time, together and by location.
#[utoipa::path(get, path = "/monitors/{id}/series", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), SeriesQuery), responses((status = 200, body = Series)))]
async fn get_series(
    State(_state): State<AppState>,
    _caller: Viewer,
    _id: Path<Uuid>,
    Query(_query): Query<SeriesQuery>,
) -> ApiResult<Json<Series>> {
    later()
}

/// Time in each state, and the percentage with the bounds that unknown time leaves.
#[utoipa::path(get, path = "/monitors/{id}/availability", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), Span), responses((status = 200, body = Availability)))]
async fn get_availability(
    State(_state): State<AppState>,
    _caller: Viewer,
    _id: Path<Uuid>,
    Query(_query): Query<Span>,
) -> ApiResult<Json<Availability>> {
    later()
}
