//! Signing in and out, and who one is.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{self, Caller, Role, Via, Viewer},
    error::{ApiError, ApiResult},
    request::{At, Json},
};
use crate::{
    domain::{secret::Secret, token::KeyKind},
    store::{
        sessions::{self, NewSession},
        users,
    },
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
async fn get_session(Viewer(caller): Viewer) -> Json<Me> {
    Json(Me::of(caller))
}

/// Signs in, or renews a sign-in, by a cookie that scripts cannot read.
#[utoipa::path(post, path = "/session", tag = "session", security(()),
    extensions(("x-role" = json!("none"))), request_body = SignIn,
    responses((status = 201, body = Me)))]
async fn sign_in(
    State(state): State<AppState>,
    headers: HeaderMap,
    Json(body): Json<SignIn>,
) -> ApiResult<Response> {
    state.limits.sign_in(&body.email)?;
    let known = users::credentials(&mut *state.pool.acquire().await?, body.email.trim()).await?;
    let (user, hash) = known.unzip();
    let right = state.passwords.verify(body.password, hash).await?;
    let Some(user) = user.filter(|_| right) else {
        return Err(ApiError::Unauthorized("Address or password is wrong."));
    };
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    if let Some(old) = auth::session_hash(&headers) {
        sessions::delete_by_hash(&mut tx, &old).await?;
    }
    let (key, secure) = begin(&mut tx, &state, user, &headers, now).await?;
    tx.commit().await?;
    answer(&state, &key, secure, StatusCode::CREATED).await
}

/// Signs out; also when nobody was signed in.
#[utoipa::path(delete, path = "/session", tag = "session", security(()),
    extensions(("x-role" = json!("none"))), responses((status = 204)))]
async fn sign_out(State(state): State<AppState>, headers: HeaderMap) -> ApiResult<Response> {
    let mut conn = state.pool.acquire().await?;
    if let Some(hash) = auth::session_hash(&headers) {
        sessions::delete_by_hash(&mut conn, &hash).await?;
    }
    let secure = state.public_url(&mut conn).await?.scheme() == "https";
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, auth::no_cookie(secure))]).into_response())
}

/// Makes a sign-in: its key, and whether the cookie must travel over TLS only.
pub async fn begin(
    conn: &mut PgConnection,
    state: &AppState,
    user: Uuid,
    headers: &HeaderMap,
    now: Timestamp,
) -> ApiResult<(Secret<String>, bool)> {
    let key = KeyKind::Session.key(super::random());
    let hash = KeyKind::Session
        .hash(key.expose())
        .ok_or_else(|| anyhow::anyhow!("a key of ours is none"))?;
    let agent = headers.get(header::USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let agent: String = agent.chars().take(300).collect();
    let session = NewSession {
        id: crate::store::id_at(now),
        hash,
        user,
        user_agent: &agent,
        expires_at: auth::session_end(now, now),
    };
    sessions::insert(conn, &session, now).await?;
    Ok((key, state.public_url(conn).await?.scheme() == "https"))
}

/// Says who is signed in now, and hands the cookie over.
pub async fn answer(
    state: &AppState,
    key: &Secret<String>,
    secure: bool,
    status: StatusCode,
) -> ApiResult<Response> {
    let cookie = auth::session_cookie(key, secure);
    let mut headers = HeaderMap::new();
    let pair = format!("{}={}", auth::COOKIE, key.expose());
    headers.insert(header::COOKIE, pair.parse().map_err(anyhow::Error::from)?);
    let me = Me::of(auth::caller(&headers, state).await?);
    Ok((status, [(header::SET_COOKIE, cookie)], Json(me)).into_response())
}

impl Me {
    fn of(caller: Caller) -> Self {
        let user = match &caller.via {
            Via::Session { user, session, display_name } => Some(MeUser {
                id: *user,
                email: caller.name.clone(),
                name: display_name.clone(),
                session: *session,
            }),
            Via::Token { .. } => None,
        };
        Self { name: caller.name, role: caller.role, user, expires_at: caller.expires_at.map(At) }
    }
}
