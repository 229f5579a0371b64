//! Values for `${secret:name}` in checks: encrypted, sent only to agents whose checks name them, never
//! shown again.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    AppState,
    auth::{Admin, Editor},
    error::ApiResult,
    request::{At, Json, List, Path},
    setup::later,
};

pub fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_secrets)).routes(routes!(put_secret, delete_secret))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Secret {
    /// Letters, digits, `_`, `-` and `.`; used as `${secret:name}`.
    pub name: String,
    pub created_at: At,
    pub updated_at: At,
    /// Names of the monitors that use it.
    pub used_by: Vec<String>,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretValue {
    /// 1 to 8,192 characters.
    pub value: String,
}

/// All secrets by name; never their values.
#[utoipa::path(get, path = "/secrets", tag = "settings", extensions(("x-role" = json!("editor"))),
    responses((status = 200, body = List<Secret>)))]
async fn list_secrets(
    State(_state): State<AppState>,
    _caller: Editor,
) -> ApiResult<Json<List<Secret>>> {
    later()
}

/// Creates or replaces a secret; agents hear of it at once.
#[utoipa::path(put, path = "/secrets/{name}", tag = "settings", extensions(("x-role" = json!("admin"))),
    params(("name" = String, Path)), request_body = SecretValue, responses((status = 200, body = Secret)))]
async fn put_secret(
    State(_state): State<AppState>,
    _caller: Admin,
    _id: Path<String>,
    Json(_body): Json<SecretValue>,
) -> ApiResult<Json<Secret>> {
    later()
}

/// Deletes a secret; 409 while a monitor uses it.
#[utoipa::path(delete, path = "/secrets/{name}", tag = "settings", extensions(("x-role" = json!("admin"))),
    params(("name" = String, Path)), responses((status = 204)))]
async fn delete_secret(
    State(_state): State<AppState>,
    _caller: Admin,
    _id: Path<String>,
) -> ApiResult<StatusCode> {
    later()
}
