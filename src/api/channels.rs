//! Channels: who is told, and how.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Editor, Viewer},
    error::ApiResult,
    incidents::Severity,
    request::{At, Json, List, Path},
    setup::later,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_channels, create_channel))
        .routes(routes!(get_channel, change_channel, delete_channel))
        .routes(routes!(test_channel))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChannelKind {
    Email,
    Webhook,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Channel {
    pub id: Uuid,
    pub name: String,
    pub kind: ChannelKind,
    /// email: `{"to": ["a@b.example"]}`; webhook: `{"url": "https://…", "headers": {}}`. Never a secret.
    #[schema(value_type = Object)]
    pub config: serde_json::Value,
    /// A signing key or password is stored.
    pub has_secret: bool,
    /// Hears every monitor that names no channels itself.
    pub default: bool,
    /// Hears nothing milder.
    pub min_severity: Severity,
    pub enabled: bool,
    /// Why it was switched off by itself.
    pub disabled_reason: Option<String>,
    pub last_delivery: Option<Delivery>,
    pub created_at: At,
    pub updated_at: At,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Delivery {
    pub at: At,
    /// `delivered failed …`; null while it is still being tried.
    pub outcome: Option<String>,
    pub answer: Option<String>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewChannel {
    pub name: String,
    pub kind: ChannelKind,
    #[schema(value_type = Object)]
    pub config: serde_json::Value,
    /// webhook: the signing key `whsec_…`; one is made, and answered this once, when it is left out.
    pub secret: Option<String>,
    #[serde(default = "yes")]
    pub default: bool,
    /// `degraded` unless given.
    pub min_severity: Option<Severity>,
    #[serde(default = "yes")]
    pub enabled: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeChannel {
    pub name: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub config: Option<serde_json::Value>,
    /// Replaces the stored one.
    pub secret: Option<String>,
    pub default: Option<bool>,
    pub min_severity: Option<Severity>,
    /// Enabling clears `disabled_reason`.
    pub enabled: Option<bool>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SavedChannel {
    #[serde(flatten)]
    pub channel: Channel,
    /// The signing key that was made, shown this once.
    pub secret: Option<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TestResult {
    pub delivered: bool,
    /// What the other side said, or why nothing could be sent.
    pub answer: String,
    pub took_ms: i64,
}

/// All channels by name.
#[utoipa::path(get, path = "/channels", tag = "alerting", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = List<Channel>)))]
async fn list_channels(
    State(_state): State<AppState>,
    _caller: Viewer,
) -> ApiResult<Json<List<Channel>>> {
    later()
}

/// Adds a channel.
#[utoipa::path(post, path = "/channels", tag = "alerting", extensions(("x-role" = json!("editor"))),
    request_body = NewChannel, responses((status = 201, body = SavedChannel)))]
async fn create_channel(
    State(_state): State<AppState>,
    _caller: Editor,
    Json(_body): Json<NewChannel>,
) -> ApiResult<Json<SavedChannel>> {
    later()
}

/// One channel.
#[utoipa::path(get, path = "/channels/{id}", tag = "alerting", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = Channel)))]
async fn get_channel(
    State(_state): State<AppState>,
    _caller: Viewer,
    _id: Path<Uuid>,
) -> ApiResult<Json<Channel>> {
    later()
}

/// Changes a channel.
#[utoipa::path(patch, path = "/channels/{id}", tag = "alerting", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), request_body = ChangeChannel, responses((status = 200, body = Channel)))]
async fn change_channel(
    State(_state): State<AppState>,
    _caller: Editor,
    _id: Path<Uuid>,
    Json(_body): Json<ChangeChannel>,
) -> ApiResult<Json<Channel>> {
    later()
}

/// Removes a channel; what waits to be sent through it is dropped.
#[utoipa::path(delete, path = "/channels/{id}", tag = "alerting", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 204)))]
async fn delete_channel(
    State(_state): State<AppState>,
    _caller: Editor,
    _id: Path<Uuid>,
) -> ApiResult<StatusCode> {
    later()
}

/// Sends a test message and tells what the other side said.
#[utoipa::path(post, path = "/channels/{id}/test", tag = "alerting", extensions(("x-role" = json!("editor"))),
    params(("id" = Uuid, Path)), responses((status = 200, body = TestResult)))]
async fn test_channel(
    State(_state): State<AppState>,
    _caller: Editor,
    _id: Path<Uuid>,
) -> ApiResult<Json<TestResult>> {
    later()
}
