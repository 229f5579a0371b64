//! People: who there is, inviting, roles, recovery, one's own password and sign-ins.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Admin, Role, Viewer},
    error::ApiResult,
    request::{At, Json, List, Path},
    setup::later,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_users))
        .routes(routes!(invite_user))
        .routes(routes!(change_user))
        .routes(routes!(recover_user))
        .routes(routes!(change_me))
        .routes(routes!(change_my_password))
        .routes(routes!(list_my_sessions))
        .routes(routes!(end_my_session))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct User {
    pub id: Uuid,
    pub email: String,
    pub name: String,
    pub role: Role,
    pub disabled: bool,
    pub created_at: At,
    /// Last use of a sign-in, to the hour; null if never.
    pub last_seen_at: Option<At>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Invite {
    pub email: String,
    pub role: Role,
}

/// A link to hand over; it is shown this once.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct IssuedLink {
    pub url: String,
    pub email: String,
    pub expires_at: At,
}

#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeUser {
    pub name: Option<String>,
    pub role: Option<Role>,
    /// Disabling ends every sign-in of theirs at once.
    pub disabled: Option<bool>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeMe {
    pub name: String,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangePassword {
    pub current: String,
    /// 10 characters at least. Every other sign-in ends.
    pub new: String,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct MySession {
    pub id: Uuid,
    pub created_at: At,
    pub last_seen_at: At,
    pub user_agent: String,
    /// The one that asks.
    pub current: bool,
}

/// Everybody, by address.
#[utoipa::path(get, path = "/users", tag = "people", extensions(("x-role" = json!("admin"))),
    responses((status = 200, body = List<User>)))]
async fn list_users(State(_state): State<AppState>, _caller: Admin) -> ApiResult<Json<List<User>>> {
    later()
}

/// Makes a link by which somebody joins. Inviting the same address again replaces the earlier link.
#[utoipa::path(post, path = "/users/invite", tag = "people", extensions(("x-role" = json!("admin"))),
    request_body = Invite, responses((status = 201, body = IssuedLink)))]
async fn invite_user(
    State(_state): State<AppState>,
    _caller: Admin,
    Json(_body): Json<Invite>,
) -> ApiResult<Json<IssuedLink>> {
    later()
}

/// Changes name or role, disables or enables. 409 if no administrator would be left.
#[utoipa::path(patch, path = "/users/{id}", tag = "people", extensions(("x-role" = json!("admin"))),
    params(("id" = Uuid, Path)), request_body = ChangeUser, responses((status = 200, body = User)))]
async fn change_user(
    State(_state): State<AppState>,
    _caller: Admin,
    _id: Path<Uuid>,
    Json(_body): Json<ChangeUser>,
) -> ApiResult<Json<User>> {
    later()
}

/// Makes a link by which somebody sets a new password.
#[utoipa::path(post, path = "/users/{id}/recovery", tag = "people", extensions(("x-role" = json!("admin"))),
    params(("id" = Uuid, Path)), responses((status = 201, body = IssuedLink)))]
async fn recover_user(
    State(_state): State<AppState>,
    _caller: Admin,
    _id: Path<Uuid>,
) -> ApiResult<Json<IssuedLink>> {
    later()
}

/// Changes one's own name.
#[utoipa::path(patch, path = "/users/me", tag = "people", extensions(("x-role" = json!("viewer"))),
    request_body = ChangeMe, responses((status = 200, body = User)))]
async fn change_me(
    State(_state): State<AppState>,
    _caller: Viewer,
    Json(_body): Json<ChangeMe>,
) -> ApiResult<Json<User>> {
    later()
}

/// Changes one's own password.
#[utoipa::path(post, path = "/users/me/password", tag = "people", extensions(("x-role" = json!("viewer"))),
    request_body = ChangePassword, responses((status = 204)))]
async fn change_my_password(
    State(_state): State<AppState>,
    _caller: Viewer,
    Json(_body): Json<ChangePassword>,
) -> ApiResult<StatusCode> {
    later()
}

/// One's own sign-ins, the latest first.
#[utoipa::path(get, path = "/users/me/sessions", tag = "people", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = List<MySession>)))]
async fn list_my_sessions(
    State(_state): State<AppState>,
    _caller: Viewer,
) -> ApiResult<Json<List<MySession>>> {
    later()
}

/// Ends one of one's own sign-ins.
#[utoipa::path(delete, path = "/users/me/sessions/{id}", tag = "people", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 204)))]
async fn end_my_session(
    State(_state): State<AppState>,
    _caller: Viewer,
    _id: Path<Uuid>,
) -> ApiResult<StatusCode> {
    later()
}
