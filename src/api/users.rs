//! People: who there is, inviting, roles, recovery, one's own password and sign-ins.

use axum::{extract::State, http::StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    AppState,
    auth::{Admin, Role, Viewer},
    error::{ApiError, ApiResult},
    password::Passwords,
    request::{At, Empty, Json, List, Path, not_null},
};
use crate::{
    domain::{Invalid, monitor::Name, token::KeyKind},
    store::{
        audit, links, sessions,
        users::{self, UserRow},
    },
};

/// How long links can be used.
const INVITE: SignedDuration = SignedDuration::from_hours(7 * 24);
const RECOVERY: SignedDuration = SignedDuration::from_hours(24);

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
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
    pub role: Option<Role>,
    /// Disabling ends every sign-in of theirs at once.
    #[serde(default, deserialize_with = "not_null")]
    #[schema(nullable = false)]
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
async fn list_users(State(state): State<AppState>, _admin: Admin) -> ApiResult<Json<List<User>>> {
    let mut conn = state.pool.acquire().await?;
    let all = users::list(&mut conn).await?;
    Ok(Json(List::whole(all.into_iter().map(User::from).collect())))
}

/// Makes a link by which somebody joins. Inviting the same address again replaces the earlier link.
#[utoipa::path(post, path = "/users/invite", tag = "people", extensions(("x-role" = json!("admin"))),
    request_body = Invite, responses((status = 201, body = IssuedLink)))]
async fn invite_user(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Json(body): Json<Invite>,
) -> ApiResult<(StatusCode, Json<IssuedLink>)> {
    let email = email("email", &body.email)?;
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    if users::by_email(&mut tx, &email).await?.is_some() {
        return Err(ApiError::conflict("email", "Somebody with this address exists already."));
    }
    links::void(&mut tx, "invite", Some(&email), now).await?;
    let link = Link { purpose: "invite", email: &email, role: Some(body.role), user: None };
    let issued = issue(&mut tx, &state, link, now).await?;
    let detail = json!({ "email": email, "role": body.role });
    audit::add(&mut tx, now, &caller.name, "user.invite", &format!("email:{email}"), &detail)
        .await?;
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(issued)))
}

/// Changes name or role, disables or enables. 409 if no administrator would be left.
#[utoipa::path(patch, path = "/users/{id}", tag = "people", extensions(("x-role" = json!("admin"))),
    params(("id" = Uuid, Path)), request_body = ChangeUser, responses((status = 200, body = User)))]
async fn change_user(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(id): Path<Uuid>,
    Json(body): Json<ChangeUser>,
) -> ApiResult<Json<User>> {
    let name = body.name.as_deref().map(|name| Name::parse("name", name)).transpose()?;
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let admins = users::lock_admins(&mut tx).await?;
    let steps_down =
        body.role.is_some_and(|role| role != Role::Admin) || body.disabled == Some(true);
    if steps_down && admins == [id] {
        return Err(ApiError::in_use(
            "This is the last administrator; make somebody else one first.",
        ));
    }
    let role = body.role.map(Role::word);
    let name = name.as_ref().map(Name::as_str);
    if !users::update(&mut tx, id, name, role, body.disabled, now).await? {
        return Err(ApiError::NotFound("user"));
    }
    if body.disabled == Some(true) {
        sessions::delete_all(&mut tx, id, None).await?;
    }
    let detail = json!({ "name": name, "role": body.role, "disabled": body.disabled });
    audit::add(&mut tx, now, &caller.name, "user.change", &format!("user:{id}"), &detail).await?;
    let user = get(&mut tx, id).await?;
    tx.commit().await?;
    Ok(Json(user))
}

/// Makes a link by which somebody sets a new password.
#[utoipa::path(post, path = "/users/{id}/recovery", tag = "people", extensions(("x-role" = json!("admin"))),
    params(("id" = Uuid, Path)), responses((status = 201, body = IssuedLink)))]
async fn recover_user(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(id): Path<Uuid>,
    _nothing: Empty,
) -> ApiResult<(StatusCode, Json<IssuedLink>)> {
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    let user = get(&mut tx, id).await?;
    if user.disabled {
        return Err(ApiError::in_use("This user is disabled; enable them first."));
    }
    links::void(&mut tx, "recovery", Some(&user.email), now).await?;
    let link = Link { purpose: "recovery", email: &user.email, role: None, user: Some(id) };
    let issued = issue(&mut tx, &state, link, now).await?;
    audit::add(&mut tx, now, &caller.name, "user.recovery", &format!("user:{id}"), &json!({}))
        .await?;
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(issued)))
}

/// Changes one's own name.
#[utoipa::path(patch, path = "/users/me", tag = "people", extensions(("x-role" = json!("viewer"))),
    request_body = ChangeMe, responses((status = 200, body = User)))]
async fn change_me(
    State(state): State<AppState>,
    Viewer(caller): Viewer,
    Json(body): Json<ChangeMe>,
) -> ApiResult<Json<User>> {
    let (id, _) = caller.user()?;
    let name = Name::parse("name", &body.name)?;
    let mut conn = state.pool.acquire().await?;
    users::update(&mut conn, id, Some(name.as_str()), None, None, state.clock.now()).await?;
    Ok(Json(get(&mut conn, id).await?))
}

/// Changes one's own password.
#[utoipa::path(post, path = "/users/me/password", tag = "people", extensions(("x-role" = json!("viewer"))),
    request_body = ChangePassword, responses((status = 204)))]
async fn change_my_password(
    State(state): State<AppState>,
    Viewer(caller): Viewer,
    Json(body): Json<ChangePassword>,
) -> ApiResult<StatusCode> {
    let (id, session) = caller.user()?;
    state.limits.sign_in(&caller.name)?;
    Passwords::check("new", &body.new)?;
    let known = users::password_hash(&mut *state.pool.acquire().await?, id).await?;
    if !state.passwords.verify(body.current, known).await? {
        return Err(ApiError::invalid("current", "is not your present password"));
    }
    let hash = state.passwords.hash(body.new).await?;
    let now = state.clock.now();
    let mut tx = state.pool.begin().await?;
    users::set_password(&mut tx, id, &hash, now).await?;
    sessions::delete_all(&mut tx, id, Some(session)).await?;
    audit::add(&mut tx, now, &caller.name, "user.password", &format!("user:{id}"), &json!({}))
        .await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// One's own sign-ins, the latest first.
#[utoipa::path(get, path = "/users/me/sessions", tag = "people", extensions(("x-role" = json!("viewer"))),
    responses((status = 200, body = List<MySession>)))]
async fn list_my_sessions(
    State(state): State<AppState>,
    Viewer(caller): Viewer,
) -> ApiResult<Json<List<MySession>>> {
    let (id, current) = caller.user()?;
    let mut conn = state.pool.acquire().await?;
    let rows = sessions::list(&mut conn, id, state.clock.now()).await?;
    let items = rows.into_iter().map(|row| MySession {
        id: row.id,
        created_at: At(row.created_at),
        last_seen_at: At(row.last_seen_at),
        user_agent: row.user_agent,
        current: row.id == current,
    });
    Ok(Json(List::whole(items.collect())))
}

/// Ends one of one's own sign-ins.
#[utoipa::path(delete, path = "/users/me/sessions/{id}", tag = "people", extensions(("x-role" = json!("viewer"))),
    params(("id" = Uuid, Path)), responses((status = 204)))]
async fn end_my_session(
    State(state): State<AppState>,
    Viewer(caller): Viewer,
    Path(id): Path<Uuid>,
) -> ApiResult<StatusCode> {
    let (user, _) = caller.user()?;
    let mut conn = state.pool.acquire().await?;
    if !sessions::delete(&mut conn, user, id).await? {
        return Err(ApiError::NotFound("sign-in"));
    }
    Ok(StatusCode::NO_CONTENT)
}

/// An address as people type it: one `@`, something on both sides, no blanks, at most 254 characters.
pub fn email(field: &str, text: &str) -> Result<String, Invalid> {
    let text = text.trim();
    let (local, host) = text.rsplit_once('@').unwrap_or_default();
    let fine = !local.is_empty()
        && !host.is_empty()
        && text.len() <= 254
        && !host.starts_with('.')
        && !host.ends_with('.')
        && !text.chars().any(|c| c.is_whitespace() || c.is_control() || "<>,;\"()".contains(c));
    if fine {
        Ok(text.to_owned())
    } else {
        Err(Invalid::new(field, "is no e-mail address such as ann@example.com"))
    }
}

async fn get(conn: &mut PgConnection, id: Uuid) -> ApiResult<User> {
    users::get(conn, id).await?.map(User::from).ok_or(ApiError::NotFound("user"))
}

/// A link that is about to be made.
struct Link<'a> {
    purpose: &'a str,
    email: &'a str,
    role: Option<Role>,
    user: Option<Uuid>,
}

async fn issue(
    conn: &mut PgConnection,
    state: &AppState,
    link: Link<'_>,
    now: Timestamp,
) -> ApiResult<IssuedLink> {
    let key = KeyKind::Link.key(super::random());
    let hash =
        KeyKind::Link.hash(key.expose()).ok_or_else(|| anyhow::anyhow!("a key of ours is none"))?;
    let lives = if link.purpose == "invite" { INVITE } else { RECOVERY };
    let expires_at = now.saturating_add(lives).unwrap_or(Timestamp::MAX);
    let row = links::NewLink {
        id: crate::store::id_at(now),
        hash,
        purpose: link.purpose,
        email: Some(link.email),
        role: link.role.map(Role::word),
        user: link.user,
        expires_at,
    };
    links::insert(conn, &row, now).await?;
    let base = state.public_url(conn).await?;
    Ok(IssuedLink {
        url: setup_url(&base, key.expose()),
        email: link.email.to_owned(),
        expires_at: At(expires_at),
    })
}

/// Where a one-time link leads.
pub fn setup_url(base: &url::Url, key: &str) -> String {
    format!("{}/setup/{key}", base.as_str().trim_end_matches('/'))
}

impl From<UserRow> for User {
    fn from(row: UserRow) -> Self {
        Self {
            id: row.id,
            email: row.email,
            name: row.name,
            role: Role::from_word(&row.role),
            disabled: row.disabled_at.is_some(),
            created_at: At(row.created_at),
            last_seen_at: row.last_seen_at.map(At),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_as_people_have_them() {
        for good in ["a@b", " ann@example.com ", "ann+x@mail.example.co.uk", "ä@müller.example"] {
            assert_eq!(email("email", good).unwrap(), good.trim());
        }
        for bad in
            ["", "ann", "@example.com", "ann@", "a b@c", "a@b.", "a@.b", "A <a@b>", "a@b,c@d"]
        {
            assert_eq!(email("to[0]", bad).unwrap_err().field, "to[0]", "{bad}");
        }
    }

    #[test]
    fn links_keep_the_path_of_the_public_address() {
        let base = |text: &str| text.parse().unwrap();
        assert_eq!(setup_url(&base("https://q.example"), "qrl_x"), "https://q.example/setup/qrl_x");
        assert_eq!(
            setup_url(&base("https://e.example/q/"), "qrl_x"),
            "https://e.example/q/setup/qrl_x"
        );
    }
}
