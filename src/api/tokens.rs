//! API tokens: shown once, kept as hashes.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Admin, Role},
    error::ApiResult,
    request::{At, Json, List, Path},
    setup::later,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_tokens, create_token)).routes(routes!(revoke_token))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ApiToken {
    pub id: Uuid,
    pub name: String,
    pub role: Role,
    pub created_by: String,
    pub created_at: At,
    pub last_used_at: Option<At>,
    pub expires_at: Option<At>,
    pub revoked_at: Option<At>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    pub name: String,
    pub role: Role,
    /// Null: until it is revoked.
    pub expires_at: Option<At>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct CreatedToken {
    /// `qrt_…`, shown this once.
    pub secret: String,
    pub token: ApiToken,
}

/// All tokens, revoked ones included for 90 days.
#[utoipa::path(get, path = "/tokens", tag = "people", extensions(("x-role" = json!("admin"))),
    responses((status = 200, body = List<ApiToken>)))]
async fn list_tokens(
    State(_state): State<AppState>,
    _caller: Admin,
) -> ApiResult<Json<List<ApiToken>>> {
    later()
}

/// Makes a token.
#[utoipa::path(post, path = "/tokens", tag = "people", extensions(("x-role" = json!("admin"))),
    request_body = NewToken, responses((status = 201, body = CreatedToken)))]
async fn create_token(
    State(_state): State<AppState>,
    _caller: Admin,
    Json(_body): Json<NewToken>,
) -> ApiResult<Json<CreatedToken>> {
    later()
}

/// Revokes a token at once.
#[utoipa::path(delete, path = "/tokens/{id}", tag = "people", extensions(("x-role" = json!("admin"))),
    params(("id" = Uuid, Path)), responses((status = 204)))]
async fn revoke_token(
    State(_state): State<AppState>,
    _caller: Admin,
    _id: Path<Uuid>,
) -> ApiResult<StatusCode> {
    later()
}
