//! What a policy costs and gives, before it is saved.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::ApiResult,
    monitors::Locations,
    request::{Json, Path},
    setup::later,
};
use crate::domain::monitor::PolicySpec;

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_monitor_odds)).routes(routes!(work_out_odds))
}

/// A policy that is not saved.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OddsOf {
    /// 60 unless given.
    pub interval_s: Option<u32>,
    /// 10 unless given.
    pub timeout_s: Option<f64>,
    pub slow_ms: Option<u32>,
    /// `"all"` unless given.
    #[schema(value_type = Option<Locations>)]
    pub locations: Option<serde_json::Value>,
    #[serde(default)]
    pub policy: PolicySpec,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Odds {
    /// Configured locations, and how many must agree when all count.
    pub n: u32,
    pub q: u32,
    /// From the first failing moment to the decision, at worst.
    pub detection_worst_s: f64,
    /// The same without asking other locations at once.
    pub detection_worst_without_wave_s: f64,
    /// Outages shorter than this never alert.
    pub shortest_outage_s: f64,
    /// From the end of the outage to the notice, at worst.
    pub recovery_worst_s: f64,
    /// About how many false alerts a month.
    pub false_alerts_per_month: f64,
    /// The same as people say it: `1 in 9.6 years`.
    pub false_alerts: String,
    /// What went into it.
    pub terms: Vec<OddsTerm>,
    /// What is worth knowing about it, one sentence each.
    pub notes: Vec<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct OddsTerm {
    /// Null for a term that belongs to no single location.
    pub location: Option<Uuid>,
    pub name: String,
    pub value: f64,
    /// `measured` or `assumed`
    pub source: String,
}

/// The odds of a monitor's policy as it is saved.
#[utoipa::path(get, path = "/monitors/{id}/odds", tag = "monitor", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Odds)))]
async fn get_monitor_odds(
    State(_state): State<AppState>,
    _caller: Viewer,
    _id: Path<Uuid>,
) -> ApiResult<Json<Odds>> {
    later()
}

/// The odds of a policy that is not saved.
#[utoipa::path(post, path = "/odds", tag = "monitors", extensions(("x-role" = json!("viewer"))),
    request_body = OddsOf, responses((status = 200, body = Odds)))]
async fn work_out_odds(
    State(_state): State<AppState>,
    _caller: Viewer,
    Json(_body): Json<OddsOf>,
) -> ApiResult<Json<Odds>> {
    later()
}
