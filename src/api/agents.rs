//! Agents: enrolled by a token that is shown once, revoked at once.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Admin, Viewer},
    error::ApiResult,
    request::{At, Json, List, Path},
    setup::later,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_agents, create_agent)).routes(routes!(revoke_agent))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Agent {
    pub id: Uuid,
    pub location: Uuid,
    pub online: bool,
    pub created_at: At,
    /// Null until it has come for the first time.
    pub first_seen_at: Option<At>,
    pub last_seen_at: Option<At>,
    pub version: Option<String>,
    /// Its wall clock minus ours; more than 2,000 either way is worth mending.
    pub clock_offset_ms: Option<i32>,
    pub in_flight: Option<i32>,
    /// Reports that wait on its disk.
    pub spool: Option<i32>,
    /// Reports lost to a full spool.
    pub dropped: i64,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAgent {
    /// Id or name of the location.
    pub location: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct CreatedAgent {
    pub agent: Agent,
    /// `qra_…`, shown this once.
    pub secret: String,
    /// Ready to paste on the machine that shall probe.
    pub command: String,
}

/// Agents that are not revoked.
#[utoipa::path(get, path = "/agents", tag = "locations", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = List<Agent>)))]
async fn list_agents(
    State(_state): State<AppState>,
    _caller: Viewer,
) -> ApiResult<Json<List<Agent>>> {
    later()
}

/// Enrols an agent for a location.
#[utoipa::path(post, path = "/agents", tag = "locations", extensions(("x-role" = json!("admin"))),
    request_body = NewAgent, responses((status = 201, body = CreatedAgent)))]
async fn create_agent(
    State(_state): State<AppState>,
    _caller: Admin,
    Json(_body): Json<NewAgent>,
) -> ApiResult<Json<CreatedAgent>> {
    later()
}

/// Revokes an agent: its link ends at once.
#[utoipa::path(delete, path = "/agents/{id}", tag = "locations", extensions(("x-role" = json!("admin"))),
    params(("id" = Uuid, Path)), responses((status = 204)))]
async fn revoke_agent(
    State(_state): State<AppState>,
    _caller: Admin,
    _id: Path<Uuid>,
) -> ApiResult<StatusCode> {
    later()
}
