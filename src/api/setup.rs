//! One-time links: the first administrator, an invitation, a recovery. One row, one use, an end.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    AppState,
    auth::Role,
    error::{ApiError, ApiResult},
    request::{At, Json, Path},
    session::Me,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_setup)).routes(routes!(get_setup_link, use_setup_link))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SetupState {
    /// Nobody can sign in yet: use the link that was printed at the start.
    pub needs_first_admin: bool,
}

/// What a one-time link is for.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SetupLink {
    pub purpose: LinkPurpose,
    /// Known for an invitation and a recovery; asked for otherwise.
    pub email: Option<String>,
    pub role: Role,
    pub expires_at: At,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkPurpose {
    FirstAdmin,
    Invite,
    Recovery,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UseSetupLink {
    /// Needed for the first administrator; otherwise it must be left out or be the same.
    pub email: Option<String>,
    pub name: Option<String>,
    /// 10 characters at least.
    pub password: String,
}

/// Whether anybody can sign in yet.
#[utoipa::path(get, path = "/setup", tag = "setup", security(()),
    extensions(("x-role" = json!("none"))), responses((status = 200, body = SetupState)))]
async fn get_setup(State(_state): State<AppState>) -> ApiResult<Json<SetupState>> {
    later()
}

/// What this link is for; 404 once it was used or has ended.
#[utoipa::path(get, path = "/setup/{token}", tag = "setup", security(()),
    extensions(("x-role" = json!("none"))), params(("token" = String, Path)),
    responses((status = 200, body = SetupLink)))]
async fn get_setup_link(
    State(_state): State<AppState>,
    _id: Path<String>,
) -> ApiResult<Json<SetupLink>> {
    later()
}

/// Uses the link: creates the account or sets the new password, and signs in.
#[utoipa::path(post, path = "/setup/{token}", tag = "setup", security(()),
    extensions(("x-role" = json!("none"))), params(("token" = String, Path)),
    request_body = UseSetupLink, responses((status = 201, body = Me)))]
async fn use_setup_link(
    State(_state): State<AppState>,
    _id: Path<String>,
    Json(_body): Json<UseSetupLink>,
) -> ApiResult<Json<Me>> {
    later()
}

pub(super) fn later<T>() -> ApiResult<T> {
    Err(ApiError::Internal(anyhow::anyhow!("not built yet")))
}
