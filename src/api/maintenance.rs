//! Maintenance windows that were declared beforehand.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::ApiResult,
    request::{At, Json, List, Path, Query},
    setup::later,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_maintenance, create_maintenance))
        .routes(routes!(get_maintenance, delete_maintenance))
        .routes(routes!(end_maintenance))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Maintenance {
    pub id: Uuid,
    pub name: String,
    pub start: At,
    pub end: At,
    pub phase: Phase,
    /// Null covers all monitors.
    pub monitors: Option<Vec<Uuid>>,
    pub suppress_alerts: bool,
    pub exclude_from_slo: bool,
    pub pause_probes: bool,
    pub declared_at: At,
    pub declared_by: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Planned,
    Running,
    Past,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMaintenance {
    pub name: String,
    pub start: At,
    pub end: At,
    /// Ids or names; null or left out covers all monitors.
    pub monitors: Option<Vec<String>>,
    /// On unless said otherwise.
    pub suppress_alerts: Option<bool>,
    /// On unless said otherwise.
    pub exclude_from_slo: Option<bool>,
    /// Off unless said otherwise.
    pub pause_probes: Option<bool>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListMaintenance {
    pub phase: Option<Phase>,
    /// Windows that cover this monitor.
    pub monitor: Option<Uuid>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// Windows, the latest start first.
#[utoipa::path(get, path = "/maintenance", tag = "maintenance", extensions(("x-role" = json!("viewer"))),
    params(ListMaintenance), responses((status = 200, body = List<Maintenance>)))]
async fn list_maintenance(
    State(_state): State<AppState>,
    _caller: Viewer,
    Query(_query): Query<ListMaintenance>,
) -> ApiResult<Json<List<Maintenance>>> {
    later()
}

/// Declares a window. A start in the past is moved to now: what has happened is not explained away.
#[utoipa::path(post, path = "/maintenance", tag = "maintenance", extensions(("x-role" = json!("editor"))),
    request_body = NewMaintenance, responses((status = 201, body = Maintenance)))]
async fn create_maintenance(
    State(_state): State<AppState>,
    _caller: Editor,
    Json(_body): Json<NewMaintenance>,
) -> ApiResult<Json<Maintenance>> {
    later()
}

/// One window.
#[utoipa::path(get, path = "/maintenance/{id}", tag = "maintenance", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Maintenance)))]
async fn get_maintenance(
    State(_state): State<AppState>,
    _caller: Viewer,
    _id: Path<Uuid>,
) -> ApiResult<Json<Maintenance>> {
    later()
}

/// Ends a running window now.
#[utoipa::path(post, path = "/maintenance/{id}/end", tag = "maintenance", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Maintenance)))]
async fn end_maintenance(
    State(_state): State<AppState>,
    _caller: Editor,
    _id: Path<Uuid>,
) -> ApiResult<Json<Maintenance>> {
    later()
}

/// Deletes a planned window; 409 once it has begun (end it instead).
#[utoipa::path(delete, path = "/maintenance/{id}", tag = "maintenance", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 204)))]
async fn delete_maintenance(
    State(_state): State<AppState>,
    _caller: Editor,
    _id: Path<Uuid>,
) -> ApiResult<StatusCode> {
    later()
}
