//! Signing in and out, and who one is.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Role, Viewer},
    error::ApiResult,
    request::{At, Json},
    setup::later,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_session, sign_in, sign_out))
}

/// Who is signed in.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Me {
    /// The e-mail address, or `token:NAME`.
    pub name: String,
    pub role: Role,
    /// Null for an API token.
    pub user: Option<MeUser>,
    /// When the sign-in ends unless it is used before; null for a token without an end.
    pub expires_at: Option<At>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct MeUser {
    pub id: Uuid,
    pub email: String,
    pub name: String,
    pub session: Uuid,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    pub email: String,
    pub password: String,
}

/// Who is signed in; 401 when nobody is.
#[utoipa::path(get, path = "/session", tag = "session",
    extensions(("x-role" = json!("viewer"))), responses((status = 200, body = Me)))]
async fn get_session(State(_state): State<AppState>, _caller: Viewer) -> ApiResult<Json<Me>> {
    later()
}

/// Signs in, or renews a sign-in, by a cookie that scripts cannot read.
#[utoipa::path(post, path = "/session", tag = "session", security(()),
    extensions(("x-role" = json!("none"))), request_body = SignIn,
    responses((status = 201, body = Me)))]
async fn sign_in(State(_state): State<AppState>, Json(_body): Json<SignIn>) -> ApiResult<Json<Me>> {
    later()
}

/// Signs out; also when nobody was signed in.
#[utoipa::path(delete, path = "/session", tag = "session", security(()),
    extensions(("x-role" = json!("none"))), responses((status = 204)))]
async fn sign_out(State(_state): State<AppState>) -> ApiResult<StatusCode> {
    later()
}
