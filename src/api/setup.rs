//! One-time links: the first administrator, an invitation, a recovery. One row, one use, an end.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::Role,
    error::{ApiError, ApiResult},
    password::Passwords,
    request::{At, Json, Path},
    session::{self, Me},
    users as users_api,
};
use crate::{
    domain::{monitor::Name, token::KeyKind},
    store::{
        audit,
        links::{self, LinkRow},
        sessions,
        users::{self, NewUser},
    },
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
async fn get_setup(State(state): State<AppState>) -> ApiResult<Json<SetupState>> {
    let mut conn = state.pool.acquire().await?;
    Ok(Json(SetupState { needs_first_admin: !users::any_admin(&mut conn).await? }))
}

/// What this link is for; 404 once it was used or has ended.
#[utoipa::path(get, path = "/setup/{token}", tag = "setup", security(()),
    extensions(("x-role" = json!("none"))), params(("token" = String, Path)),
    responses((status = 200, body = SetupLink)))]
async fn get_setup_link(
    State(state): State<AppState>,
    Path(token): Path<String>,
) -> ApiResult<Json<SetupLink>> {
    let mut conn = state.pool.acquire().await?;
    let link = find(&mut conn, &token, state.clock.now()).await?;
    Ok(Json(SetupLink {
        purpose: LinkPurpose::from_word(&link.purpose),
        role: Role::from_word(link.role.as_deref().unwrap_or("admin")),
        email: link.email,
        expires_at: At(link.expires_at),
    }))
}

/// Uses the link: creates the account or sets the new password, and signs in.
#[utoipa::path(post, path = "/setup/{token}", tag = "setup", security(()),
    extensions(("x-role" = json!("none"))), params(("token" = String, Path)),
    request_body = UseSetupLink, responses((status = 201, body = Me)))]
async fn use_setup_link(
    State(state): State<AppState>,
    Path(token): Path<String>,
    headers: HeaderMap,
    Json(body): Json<UseSetupLink>,
) -> ApiResult<Response> {
    state.limits.link(&token)?;
    let now = state.clock.now();
    let link = find(&mut *state.pool.acquire().await?, &token, now).await?;
    let email = email_for(&link, body.email.as_deref())?;
    let name = display_name(body.name.as_deref())?;
    Passwords::check("password", &body.password)?;
    let hash = state.passwords.hash(body.password).await?;

    let mut tx = state.pool.begin().await?;
    if link.purpose == "first_admin" {
        // Two such links used at once: the second waits here, before it holds its own link, which the
        // first voids; then it sees the first one's account.
        links::lock_first_admin(&mut tx).await?;
        if users::any_admin(&mut tx).await? {
            return Err(ApiError::NotFound("link"));
        }
    }
    if !links::take(&mut tx, link.id, now).await? {
        return Err(ApiError::NotFound("link"));
    }
    let user = match link.user {
        Some(user) => {
            users::set_password(&mut tx, user, &hash, now).await?;
            sessions::delete_all(&mut tx, user, None).await?;
            user
        }
        None => create_account(&mut tx, &link, &email, &name, &hash, now).await?,
    };
    let action = format!("link.{}", link.purpose);
    audit::add(&mut tx, now, &email, &action, &format!("user:{user}"), &json!({ "email": email }))
        .await?;
    let (key, secure) = session::begin(&mut tx, &state, user, &headers, now).await?;
    tx.commit().await?;
    session::answer(&state, &key, secure, StatusCode::CREATED).await
}

/// The link behind a key, if it can be used now.
async fn find(conn: &mut PgConnection, token: &str, now: Timestamp) -> ApiResult<LinkRow> {
    let hash = KeyKind::Link.hash(token).ok_or(ApiError::NotFound("link"))?;
    let link = links::find(conn, &hash, now).await?.ok_or(ApiError::NotFound("link"))?;
    // Whoever finds an old first-admin link must not get in beside the administrator there is.
    if link.purpose == "first_admin" && users::any_admin(conn).await? {
        return Err(ApiError::NotFound("link"));
    }
    Ok(link)
}

async fn create_account(
    conn: &mut PgConnection,
    link: &LinkRow,
    email: &str,
    name: &str,
    password_hash: &str,
    now: Timestamp,
) -> ApiResult<Uuid> {
    if link.purpose == "first_admin" {
        links::void(conn, "first_admin", None, now).await?;
    }
    let id = crate::store::id_at(now);
    let role = link.role.as_deref().unwrap_or("admin");
    users::insert(conn, &NewUser { id, email, name, role, password_hash }, now).await?;
    Ok(id)
}

fn email_for(link: &LinkRow, given: Option<&str>) -> ApiResult<String> {
    match (&link.email, given) {
        (Some(known), None) => Ok(known.clone()),
        (Some(known), Some(given)) if given.trim().eq_ignore_ascii_case(known) => Ok(known.clone()),
        (Some(known), Some(_)) => {
            Err(ApiError::invalid("email", format!("this link is for {known}; leave it out")))
        }
        (None, given) => Ok(users_api::email("email", given.unwrap_or_default())?),
    }
}

fn display_name(name: Option<&str>) -> ApiResult<String> {
    match name.map(str::trim) {
        None | Some("") => Ok(String::new()),
        Some(name) => Ok(Name::parse("name", name)?.into_string()),
    }
}

impl LinkPurpose {
    fn from_word(word: &str) -> Self {
        match word {
            "first_admin" => Self::FirstAdmin,
            "recovery" => Self::Recovery,
            _ => Self::Invite,
        }
    }
}
