//! Who is calling, and what that lets them do. Roles are extractors: a handler that takes an
//! [`Editor`] cannot be reached by a viewer.

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, HeaderValue, Method, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use axum_extra::extract::CookieJar;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    AppState,
    error::{ApiError, ApiResult},
};
use crate::{
    domain::{secret::Secret, token::KeyKind},
    store::{sessions, tokens},
};

/// The sign-in's cookie.
pub const COOKIE: &str = "quorate_session";
/// A sign-in that is not used ends after so long …
const IDLE: SignedDuration = SignedDuration::from_hours(14 * 24);
/// … and any sign-in after so long.
const LONGEST: SignedDuration = SignedDuration::from_hours(90 * 24);
/// "Last seen" is not written more often than this.
const TOUCH_AFTER: SignedDuration = SignedDuration::from_mins(15);

/// What somebody may do; each role may do what the ones before it may.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Viewer,
    Editor,
    Admin,
}

impl Role {
    pub fn word(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Editor => "editor",
            Self::Admin => "admin",
        }
    }

    /// The column's check holds the three words; whatever else may not do more than look.
    pub fn from_word(word: &str) -> Self {
        match word {
            "admin" => Self::Admin,
            "editor" => Self::Editor,
            _ => Self::Viewer,
        }
    }
}

/// A caller who is known.
#[derive(Debug, Clone)]
pub struct Caller {
    /// For audit rows: the e-mail address, or `token:NAME`.
    pub name: String,
    pub role: Role,
    pub via: Via,
    /// When this ends if nothing happens; none for a token without an end.
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub enum Via {
    Session { user: Uuid, session: Uuid, display_name: String },
    Token { token: Uuid },
}

impl Caller {
    /// The user behind a sign-in; API tokens belong to nobody.
    pub fn user(&self) -> ApiResult<(Uuid, Uuid)> {
        match &self.via {
            Via::Session { user, session, .. } => Ok((*user, *session)),
            Via::Token { .. } => {
                Err(ApiError::Forbidden("An API token has no account of its own; sign in.".into()))
            }
        }
    }

    /// The key of this caller's rate limits.
    pub fn key(&self) -> Uuid {
        match &self.via {
            Via::Session { user, .. } => *user,
            Via::Token { token } => *token,
        }
    }
}

/// Anybody who is signed in.
#[derive(Debug, Clone)]
pub struct Viewer(pub Caller);
/// May change monitors, channels, maintenance, and act on incidents.
#[derive(Debug, Clone)]
pub struct Editor(pub Caller);
/// May change locations, agents, people, tokens, settings and secrets.
#[derive(Debug, Clone)]
pub struct Admin(pub Caller);

/// Finds out who calls: by bearer token, else by cookie.
pub async fn caller(headers: &HeaderMap, state: &AppState) -> ApiResult<Caller> {
    if headers.contains_key(header::AUTHORIZATION) {
        let hash = bearer(headers).and_then(|key| KeyKind::Api.hash(key));
        let hash = hash.ok_or(ApiError::Unauthorized("This is no API token."))?;
        return by_token(&hash, state).await;
    }
    let hash = session_hash(headers).ok_or(ApiError::Unauthorized("Sign in first."))?;
    by_session(&hash, state).await
}

/// The key after `Authorization: Bearer`.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// The hash of the sign-in's key in the cookie.
pub fn session_hash(headers: &HeaderMap) -> Option<[u8; 32]> {
    let jar = CookieJar::from_headers(headers);
    KeyKind::Session.hash(jar.get(COOKIE)?.value())
}

async fn by_token(hash: &[u8; 32], state: &AppState) -> ApiResult<Caller> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let token = tokens::find(&mut conn, hash, now)
        .await?
        .ok_or(ApiError::Unauthorized("This token is unknown, revoked or has ended."))?;
    if token.last_used_at.is_none_or(|at| now.duration_since(at) > TOUCH_AFTER) {
        tokens::touch(&mut conn, token.id, now).await?;
    }
    Ok(Caller {
        name: format!("token:{}", token.name),
        role: Role::from_word(&token.role),
        via: Via::Token { token: token.id },
        expires_at: token.expires_at,
    })
}

async fn by_session(hash: &[u8; 32], state: &AppState) -> ApiResult<Caller> {
    let now = state.clock.now();
    let mut conn = state.pool.acquire().await?;
    let found = sessions::find(&mut conn, hash, now)
        .await?
        .ok_or(ApiError::Unauthorized("The sign-in has ended; sign in again."))?;
    let mut expires_at = found.expires_at;
    if now.duration_since(found.last_seen_at) > TOUCH_AFTER {
        expires_at = session_end(found.created_at, now);
        sessions::touch(&mut conn, found.session, now, expires_at).await?;
    }
    Ok(Caller {
        name: found.email,
        role: Role::from_word(&found.role),
        via: Via::Session { user: found.user, session: found.session, display_name: found.name },
        expires_at: Some(expires_at),
    })
}

/// When a sign-in of `created_at` that is used at `now` ends.
pub fn session_end(created_at: Timestamp, now: Timestamp) -> Timestamp {
    let idle = now.saturating_add(IDLE).unwrap_or(Timestamp::MAX);
    idle.min(created_at.saturating_add(LONGEST).unwrap_or(Timestamp::MAX))
}

async fn at_least(role: Role, parts: &mut Parts, state: &AppState) -> ApiResult<Caller> {
    let caller = caller(&parts.headers, state).await?;
    if caller.role < role {
        return Err(ApiError::Forbidden(format!(
            "This needs the role {}; yours is {}.",
            role.word(),
            caller.role.word()
        )));
    }
    Ok(caller)
}

impl FromRequestParts<AppState> for Viewer {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> ApiResult<Self> {
        at_least(Role::Viewer, parts, state).await.map(Self)
    }
}

impl FromRequestParts<AppState> for Editor {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> ApiResult<Self> {
        at_least(Role::Editor, parts, state).await.map(Self)
    }
}

impl FromRequestParts<AppState> for Admin {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> ApiResult<Self> {
        at_least(Role::Admin, parts, state).await.map(Self)
    }
}

/// Refuses what another site makes a browser send. A bearer token is no cookie: no browser adds it by
/// itself. Otherwise a request that changes something must come from our own pages, as far as the
/// browser says where it comes from; all of today's do.
pub async fn same_origin(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let headers = request.headers();
    if safe || headers.contains_key(header::AUTHORIZATION) || is_same_origin(headers, &state) {
        return next.run(request).await;
    }
    ApiError::Forbidden("This request comes from another site.".into()).into_response()
}

fn is_same_origin(headers: &HeaderMap, state: &AppState) -> bool {
    let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
    if let Some(site) = text("sec-fetch-site")
        && !matches!(site, "same-origin" | "none")
    {
        return false;
    }
    let Some(origin) = text("origin") else { return true };
    let Ok(origin) = url::Url::parse(origin) else { return false };
    if state.config.public_url.as_ref().is_some_and(|ours| ours.origin() == origin.origin()) {
        return true;
    }
    let authority = match (origin.host_str(), origin.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => return false,
    };
    text("host").is_some_and(|host| host.eq_ignore_ascii_case(&authority))
}

/// `Set-Cookie` for a sign-in. The server decides when it ends, so the browser may keep it for long.
pub fn session_cookie(key: &Secret<String>, secure: bool) -> HeaderValue {
    cookie(key.expose(), 400 * 86_400, secure)
}

/// `Set-Cookie` that forgets the sign-in.
pub fn no_cookie(secure: bool) -> HeaderValue {
    cookie("", 0, secure)
}

fn cookie(value: &str, max_age: u32, secure: bool) -> HeaderValue {
    let secure = if secure { "; Secure" } else { "" };
    let text =
        format!("{COOKIE}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax{secure}");
    let mut header = HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""));
    header.set_sensitive(true);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_lives_on_by_use_but_not_for_ever() {
        let day = |n: i64| Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * n);
        assert_eq!(session_end(day(0), day(0)), day(14));
        assert_eq!(session_end(day(0), day(70)), day(84));
        assert_eq!(session_end(day(0), day(80)), day(90));
    }

    #[test]
    fn the_cookie_is_out_of_reach_for_scripts() {
        let cookie = session_cookie(&KeyKind::Session.key([1; 32]), true);
        let text = cookie.to_str().unwrap();
        assert!(text.starts_with("quorate_session=qrs_"));
        assert!(
            text.ends_with("; Path=/; Max-Age=34560000; HttpOnly; SameSite=Lax; Secure"),
            "{text}"
        );
        assert!(
            !session_cookie(&KeyKind::Session.key([1; 32]), false)
                .to_str()
                .unwrap()
                .contains("Secure")
        );
        assert!(no_cookie(false).to_str().unwrap().contains("=; Path=/; Max-Age=0;"));
    }

    #[test]
    fn roles_are_ordered_and_spelt_as_in_the_database() {
        assert!(Role::Viewer < Role::Editor && Role::Editor < Role::Admin);
        for role in [Role::Viewer, Role::Editor, Role::Admin] {
            assert_eq!(Role::from_word(role.word()), role);
        }
    }
}
