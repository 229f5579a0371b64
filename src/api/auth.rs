//! Who is calling, and what that lets them do. Roles are extractors: a handler that takes an
//! [`Editor`] cannot be reached by a viewer.

use axum::{extract::FromRequestParts, http::request::Parts};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    AppState,
    error::{ApiError, ApiResult},
};

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

/// A caller who is known.
#[derive(Debug, Clone)]
pub struct Caller {
    /// For audit rows: the e-mail address, or `token:NAME`.
    pub name: String,
    pub role: Role,
    pub via: Via,
}

#[derive(Debug, Clone)]
pub enum Via {
    Session { user: Uuid, session: Uuid },
    Token { token: Uuid },
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

async fn caller(_parts: &mut Parts, _state: &AppState) -> ApiResult<Caller> {
    Err(ApiError::Unauthorized("Sign in first."))
}

async fn at_least(role: Role, parts: &mut Parts, state: &AppState) -> ApiResult<Caller> {
    let caller = caller(parts, state).await?;
    if caller.role < role {
        let needs = match role {
            Role::Viewer => "viewer",
            Role::Editor => "editor",
            Role::Admin => "admin",
        };
        return Err(ApiError::Forbidden(format!("This needs the role {needs}.")));
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
