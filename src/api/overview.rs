//! Everything the overview needs, in one answer.

use axum::{extract::State, response::Response};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    AppState,
    auth::Viewer,
    error::ApiResult,
    incidents::IncidentRow,
    locations::Location,
    monitor_list::MonitorRow,
    request::{At, Query},
    setup::later,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_overview))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Overview {
    pub now: At,
    /// One sentence: what is wrong, or that nothing is.
    pub sentence: String,
    /// Over all monitors, whatever the filter.
    pub counts: StateCounts,
    /// Group names, in order.
    pub groups: Vec<String>,
    /// At most 500, the worst first; their seats are the matrix, their strips are empty.
    pub monitors: Vec<MonitorRow>,
    /// There are more monitors than shown.
    pub more: bool,
    pub locations: Vec<Location>,
    /// Open ones, the latest first.
    pub incidents: Vec<IncidentRow>,
    /// The last one that ended, for calm days.
    pub last_incident: Option<IncidentRow>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct StateCounts {
    pub total: i64,
    pub up: i64,
    pub degraded: i64,
    pub partial: i64,
    pub down: i64,
    pub unknown: i64,
    pub pending: i64,
    pub paused: i64,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct OverviewQuery {
    /// States, separated by commas.
    pub state: Option<String>,
    pub group: Option<String>,
    pub q: Option<String>,
    pub label: Option<String>,
}

/// State counts, what needs attention, and the locations × monitors matrix. Answers 304 to a matching
/// `If-None-Match`.
#[utoipa::path(get, path = "/overview", tag = "overview", extensions(("x-role" = json!("viewer"))),
    params(OverviewQuery), responses((status = 200, body = Overview, headers(("etag" = String)))))]
async fn get_overview(
    State(_state): State<AppState>,
    _caller: Viewer,
    Query(_query): Query<OverviewQuery>,
) -> ApiResult<Response> {
    later()
}
