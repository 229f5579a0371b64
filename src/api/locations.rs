//! Where we look from, and who looks there.

use std::collections::BTreeMap;

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    agents::Agent,
    auth::{Admin, Viewer},
    error::ApiResult,
    request::{At, Json, List, Path},
    setup::later,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_locations, create_location)).routes(routes!(
        get_location,
        change_location,
        delete_location
    ))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Location {
    pub id: Uuid,
    pub name: String,
    /// Continent or user group.
    pub region: String,
    /// What fails together: provider and network.
    pub domain: String,
    pub labels: BTreeMap<String, String>,
    pub enabled: bool,
    /// Runs beside the coordinator under a pretended name: it shares this machine's line.
    pub simulated: bool,
    pub health: LocationHealth,
    /// Since when; null while that is not known.
    pub health_since: Option<At>,
    pub agents: Vec<Agent>,
    /// How many monitors are looked at from here.
    pub monitors: i64,
    pub created_at: At,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LocationHealth {
    /// At least one agent answered within 30 s.
    Online,
    /// Agents are enrolled, none answered within 30 s.
    Offline,
    /// Nobody is enrolled, or nobody has come yet.
    Waiting,
    Disabled,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLocation {
    pub name: String,
    /// The name unless given.
    pub region: Option<String>,
    /// The name unless given.
    pub domain: Option<String>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default = "yes")]
    pub enabled: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeLocation {
    pub name: Option<String>,
    pub region: Option<String>,
    pub domain: Option<String>,
    pub labels: Option<BTreeMap<String, String>>,
    pub enabled: Option<bool>,
}

/// All locations with their agents, in the order they were added.
#[utoipa::path(get, path = "/locations", tag = "locations", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = List<Location>)))]
async fn list_locations(
    State(_state): State<AppState>,
    _caller: Viewer,
) -> ApiResult<Json<List<Location>>> {
    later()
}

/// Adds a location; monitors that look from everywhere look from it too.
#[utoipa::path(post, path = "/locations", tag = "locations", extensions(("x-role" = json!("admin"))),
    request_body = NewLocation, responses((status = 201, body = Location)))]
async fn create_location(
    State(_state): State<AppState>,
    _caller: Admin,
    Json(_body): Json<NewLocation>,
) -> ApiResult<Json<Location>> {
    later()
}

/// One location.
#[utoipa::path(get, path = "/locations/{id}", tag = "locations", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Location)))]
async fn get_location(
    State(_state): State<AppState>,
    _caller: Viewer,
    _id: Path<Uuid>,
) -> ApiResult<Json<Location>> {
    later()
}

/// Changes a location. A disabled one stops probing, and its votes do not count.
#[utoipa::path(patch, path = "/locations/{id}", tag = "locations", extensions(("x-role" = json!("admin"))),
    params(("id" = Uuid, Path)), request_body = ChangeLocation, responses((status = 200, body = Location)))]
async fn change_location(
    State(_state): State<AppState>,
    _caller: Admin,
    _id: Path<Uuid>,
    Json(_body): Json<ChangeLocation>,
) -> ApiResult<Json<Location>> {
    later()
}

/// Removes a location and revokes its agents; 409 while a monitor looks from nowhere else.
#[utoipa::path(delete, path = "/locations/{id}", tag = "locations", extensions(("x-role" = json!("admin"))),
    params(("id" = Uuid, Path)), responses((status = 204)))]
async fn delete_location(
    State(_state): State<AppState>,
    _caller: Admin,
    _id: Path<Uuid>,
) -> ApiResult<StatusCode> {
    later()
}
