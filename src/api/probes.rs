//! Probing by hand: a saved monitor, or a check that is still being written.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::ApiResult,
    monitors::{LocationRef, Locations},
    request::{At, Json, Path, Query},
    setup::later,
};
use crate::domain::observation::Observation;

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(run_monitor))
        .routes(routes!(try_check))
        .routes(routes!(get_probe))
}

/// A check to try without storing anything.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TryCheck {
    #[schema(value_type = Object)]
    pub check: serde_json::Value,
    /// 10 unless given.
    pub timeout_s: Option<f64>,
    /// `"all"` unless given.
    #[schema(value_type = Option<Locations>)]
    pub locations: Option<serde_json::Value>,
    /// The monitor that is being edited: its stored secrets stand in for `"•••"`.
    pub monitor: Option<Uuid>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct WaitFor {
    /// Seconds to wait for all answers: 0 to 75. Unless given, until all have answered or no answer can
    /// come any more.
    pub wait_s: Option<f64>,
}

/// One click: one observation per location, as they come in.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ProbeBatch {
    pub id: Uuid,
    /// All have answered, or cannot any more.
    pub done: bool,
    pub requested_at: At,
    pub expires_at: At,
    pub results: Vec<ProbeResult>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ProbeResult {
    pub location: LocationRef,
    pub status: ProbeStatus,
    pub observation: Option<Observation>,
    pub answered_at: Option<At>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeStatus {
    Waiting,
    Answered,
    /// No agent of this location is online.
    Offline,
    /// It did not answer in time.
    Expired,
}

/// Probes a monitor from all its locations now. The results are kept as manual runs and never vote.
#[utoipa::path(post, path = "/monitors/{id}/run", tag = "monitor", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path), WaitFor), responses((status = 200, body = ProbeBatch)))]
async fn run_monitor(
    State(_state): State<AppState>,
    _caller: Editor,
    _id: Path<Uuid>,
    Query(_query): Query<WaitFor>,
) -> ApiResult<Json<ProbeBatch>> {
    later()
}

/// Tries a check from the locations now, and stores nothing.
#[utoipa::path(post, path = "/checks/try", tag = "monitors", extensions(("x-role" = json!("editor"))),
    params(WaitFor), request_body = TryCheck, responses((status = 200, body = ProbeBatch)))]
async fn try_check(
    State(_state): State<AppState>,
    _caller: Editor,
    Query(_query): Query<WaitFor>,
    Json(_body): Json<TryCheck>,
) -> ApiResult<Json<ProbeBatch>> {
    later()
}

/// The answers so far of a run or a try.
#[utoipa::path(get, path = "/probes/{id}", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path), WaitFor), responses((status = 200, body = ProbeBatch)))]
async fn get_probe(
    State(_state): State<AppState>,
    _caller: Viewer,
    _id: Path<Uuid>,
    Query(_query): Query<WaitFor>,
) -> ApiResult<Json<ProbeBatch>> {
    later()
}
