//! API tokens: shown once, kept as hashes.

use axum::{extract::State, http::StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Admin, Role},
    error::{ApiError, ApiResult},
    request::{At, Json, List, Path},
};
use crate::{
    domain::{monitor::Name, token::KeyKind},
    store::{audit, tokens},
};

/// Revoked tokens stay in the list for so long.
const SHOW_REVOKED: SignedDuration = SignedDuration::from_hours(90 * 24);

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
    State(state): State<AppState>,
    _admin: Admin,
) -> ApiResult<Json<List<ApiToken>>> {
    let since = state.clock.now().saturating_sub(SHOW_REVOKED).unwrap_or(Timestamp::MIN);
    let mut conn = state.pool.acquire().await?;
    let rows = tokens::list(&mut conn, since).await?;
    Ok(Json(List::whole(rows.into_iter().map(ApiToken::from).collect())))
}

/// Makes a token.
#[utoipa::path(post, path = "/tokens", tag = "people", extensions(("x-role" = json!("admin"))),
    request_body = NewToken, responses((status = 201, body = CreatedToken)))]
async fn create_token(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Json(body): Json<NewToken>,
) -> ApiResult<(StatusCode, Json<CreatedToken>)> {
    let name = Name::parse("name", &body.name)?;
    let now = state.clock.now();
    if body.expires_at.is_some_and(|at| at.0 <= now) {
        return Err(ApiError::invalid("expires_at", "lies in the past"));
    }
    let key = KeyKind::Api.key(super::random());
    let hash =
        KeyKind::Api.hash(key.expose()).ok_or_else(|| anyhow::anyhow!("a key of ours is none"))?;
    let new = tokens::NewToken {
        id: crate::store::id_at(now),
        name: name.as_str(),
        role: body.role.word(),
        hash,
        created_by: &caller.name,
        expires_at: body.expires_at.map(|at| at.0),
    };
    let mut tx = state.pool.begin().await?;
    tokens::insert(&mut tx, &new, now).await?;
    let detail = json!({ "name": new.name, "role": new.role, "expires_at": body.expires_at });
    audit::add(&mut tx, now, &caller.name, "token.create", &format!("token:{}", new.id), &detail)
        .await?;
    tx.commit().await?;
    let token = ApiToken {
        id: new.id,
        name: new.name.to_owned(),
        role: body.role,
        created_by: caller.name.clone(),
        created_at: At(now),
        last_used_at: None,
        expires_at: body.expires_at,
        revoked_at: None,
    };
    Ok((StatusCode::CREATED, Json(CreatedToken { secret: key.into_exposed(), token })))
}

/// Revokes a token at once.
#[utoipa::path(delete, path = "/tokens/{id}", tag = "people", extensions(("x-role" = json!("admin"))),
    params(("id" = Uuid, Path)), responses((status = 204)))]
async fn revoke_token(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(id): Path<Uuid>,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let name = tokens::revoke(&mut tx, id, now).await?.ok_or(ApiError::NotFound("token"))?;
    let detail = json!({ "name": name });
    audit::add(&mut tx, now, &caller.name, "token.revoke", &format!("token:{id}"), &detail).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<tokens::TokenRow> for ApiToken {
    fn from(row: tokens::TokenRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            role: Role::from_word(&row.role),
            created_by: row.created_by,
            created_at: At(row.created_at),
            last_used_at: row.last_used_at.map(At),
            expires_at: row.expires_at.map(At),
            revoked_at: row.revoked_at.map(At),
        }
    }
}
