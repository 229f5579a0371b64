//! Quorate's own health, for the foot of the rail.

use axum::extract::State;
use serde::Serialize;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Viewer,
    error::ApiResult,
    request::{At, Json},
    setup::later,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_health))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Health {
    pub ok: bool,
    pub now: At,
    pub version: String,
    /// What is wrong, one sentence each, the worst first; empty when all is well.
    pub problems: Vec<Problem>,
    pub coordinators: Vec<Coordinator>,
    /// Since the last sweep, which runs every second; null before the first.
    pub sweep_age_ms: Option<i64>,
    /// Deadlines are lenient until then, after a stretch without a sweep.
    pub grace_until: Option<At>,
    pub agents: AgentCounts,
    pub notices: NoticeHealth,
    pub mail_configured: bool,
    /// Channels that are enabled.
    pub channels: i64,
    /// Locations that run beside the coordinator.
    pub simulated_locations: i64,
    pub database_bytes: i64,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Problem {
    /// `sweep_late notices_late notices_failed agents_offline no_agents no_mail channel_disabled clock_offset`
    pub code: String,
    pub message: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Coordinator {
    pub id: Uuid,
    pub started_at: At,
    pub seen_at: At,
    pub version: String,
    /// Its clock minus the database's.
    pub clock_offset_ms: i32,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct AgentCounts {
    pub online: i64,
    /// Enrolled and not revoked.
    pub enrolled: i64,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct NoticeHealth {
    /// Not settled yet.
    pub waiting: i64,
    /// How long the oldest one that is due has waited for its first attempt.
    pub oldest_due_ms: Option<i64>,
    /// Given up within the last 24 h.
    pub failed_24h: i64,
}

/// How Quorate itself is.
#[utoipa::path(get, path = "/health", tag = "about", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = Health)))]
async fn get_health(State(_state): State<AppState>, _caller: Viewer) -> ApiResult<Json<Health>> {
    later()
}
