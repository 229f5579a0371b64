//! Incidents: what happened, who was told, and what people did about it.

use axum::extract::State;
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
        .routes(routes!(list_incidents))
        .routes(routes!(get_incident))
        .routes(routes!(acknowledge_incident))
        .routes(routes!(unacknowledge_incident))
        .routes(routes!(note_incident))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Degraded,
    Partial,
    Down,
}

#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct IncidentRow {
    pub id: Uuid,
    /// Null for a subject that is no monitor, or one that was deleted.
    pub monitor: Option<MonitorRef>,
    /// `monitor:UUID`, …
    pub subject: String,
    pub severity: Severity,
    /// The worst it has been.
    pub peak: Severity,
    /// The first failing result; `opened_at` is when it was decided.
    pub started_at: At,
    pub opened_at: At,
    /// The first passing result; null while open.
    pub ended_at: Option<At>,
    pub resolved_at: Option<At>,
    /// `recovered paused deleted`
    pub resolve_reason: Option<String>,
    /// From start to end, or to now.
    pub duration_ms: i64,
    pub low: bool,
    /// Inside maintenance: nobody was told.
    pub suppressed: bool,
    pub flapping: bool,
    pub evidence_stale: bool,
    pub acked_at: Option<At>,
    pub acked_by: Option<String>,
    /// As it was told last.
    pub sentence: String,
}

#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct MonitorRef {
    pub id: Uuid,
    pub name: String,
    pub group: String,
    pub target: String,
    pub runbook_url: Option<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Incident {
    #[serde(flatten)]
    pub row: IncidentRow,
    /// Votes and scope at the last opening or move, by location.
    #[schema(value_type = Object)]
    pub evidence: serde_json::Value,
    /// Oldest first.
    pub events: Vec<IncidentEvent>,
    /// Oldest first.
    pub notices: Vec<IncidentNotice>,
    /// Other incidents that were open at the same time.
    pub at_the_same_time: Vec<IncidentRow>,
    /// Earlier ones of the same monitor, the latest first.
    pub earlier: Vec<IncidentRow>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct IncidentEvent {
    pub no: i32,
    pub at: At,
    /// `opened escalated downgraded reopened resolved flap_start withdrawn acked unacked note …`
    pub kind: String,
    /// Null: Quorate itself.
    pub actor: Option<String>,
    pub sentence: String,
    #[schema(value_type = Object)]
    pub data: serde_json::Value,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct IncidentNotice {
    pub id: Uuid,
    pub channel: Uuid,
    pub channel_name: String,
    pub channel_kind: String,
    pub kind: String,
    pub severity: String,
    pub created_at: At,
    /// When it is tried next; null once settled.
    pub due_at: Option<At>,
    pub attempts: i32,
    pub attempted_at: Option<At>,
    pub settled_at: Option<At>,
    /// `delivered failed collapsed dropped`; null while it waits.
    pub outcome: Option<String>,
    /// What the other side said last.
    pub answer: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListIncidents {
    pub state: Option<IncidentState>,
    /// Id or name.
    pub monitor: Option<String>,
    /// Opened at or after.
    pub from: Option<At>,
    /// Opened before.
    pub to: Option<At>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum IncidentState {
    Open,
    Resolved,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// 1 to 4,000 characters.
    pub text: String,
}

/// Incidents, the latest opened first.
#[utoipa::path(get, path = "/incidents", tag = "incidents", extensions(("x-role" = json!("viewer"))),
    params(ListIncidents), responses((status = 200, body = List<IncidentRow>)))]
async fn list_incidents(
    State(_state): State<AppState>,
    _caller: Viewer,
    Query(_query): Query<ListIncidents>,
) -> ApiResult<Json<List<IncidentRow>>> {
    later()
}

/// One incident with its events, evidence and notices.
#[utoipa::path(get, path = "/incidents/{id}", tag = "incidents", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Incident)))]
async fn get_incident(
    State(_state): State<AppState>,
    _caller: Viewer,
    _id: Path<Uuid>,
) -> ApiResult<Json<Incident>> {
    later()
}

/// Acknowledges an open incident: somebody is at it. Harmless when it is already acknowledged.
#[utoipa::path(post, path = "/incidents/{id}/ack", tag = "incidents", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Incident)))]
async fn acknowledge_incident(
    State(_state): State<AppState>,
    _caller: Editor,
    _id: Path<Uuid>,
) -> ApiResult<Json<Incident>> {
    later()
}

/// Takes an acknowledgement back.
#[utoipa::path(post, path = "/incidents/{id}/unack", tag = "incidents", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Incident)))]
async fn unacknowledge_incident(
    State(_state): State<AppState>,
    _caller: Editor,
    _id: Path<Uuid>,
) -> ApiResult<Json<Incident>> {
    later()
}

/// Adds a note, also to one that is over.
#[utoipa::path(post, path = "/incidents/{id}/note", tag = "incidents", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), request_body = Note, responses((status = 200, body = Incident)))]
async fn note_incident(
    State(_state): State<AppState>,
    _caller: Editor,
    _id: Path<Uuid>,
    Json(_body): Json<Note>,
) -> ApiResult<Json<Incident>> {
    later()
}
