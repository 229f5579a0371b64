//! People. Constraint `app_user_email_key`: an address is there once, whatever its case.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

#[derive(Debug, Clone)]
pub struct UserRow {
    pub id: Uuid,
    pub email: String,
    pub name: String,
    /// viewer, editor or admin; the column's check holds no others.
    pub role: String,
    pub disabled_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub last_seen_at: Option<Timestamp>,
}

/// Everybody, by address.
pub async fn list(conn: &mut PgConnection) -> sqlx::Result<Vec<UserRow>> {
    sqlx::query!(
        r#"select u.user_id, u.email, u.name, u.role, u.disabled_at, u.created_at,
                  (select max(s.last_seen_at) from session s where s.user_id = u.user_id)
                      as "last_seen_at: jiff_sqlx::Timestamp"
           from app_user u order by lower(u.email)"#
    )
    .map(|r| UserRow {
        id: r.user_id,
        email: r.email,
        name: r.name,
        role: r.role,
        disabled_at: r.disabled_at.map(|t| t.to_jiff()),
        created_at: r.created_at.to_jiff(),
        last_seen_at: r.last_seen_at.map(|t| t.to_jiff()),
    })
    .fetch_all(conn)
    .await
}

pub async fn get(conn: &mut PgConnection, id: Uuid) -> sqlx::Result<Option<UserRow>> {
    sqlx::query!(
        r#"select u.user_id, u.email, u.name, u.role, u.disabled_at, u.created_at,
                  (select max(s.last_seen_at) from session s where s.user_id = u.user_id)
                      as "last_seen_at: jiff_sqlx::Timestamp"
           from app_user u where u.user_id = $1"#,
        id
    )
    .map(|r| UserRow {
        id: r.user_id,
        email: r.email,
        name: r.name,
        role: r.role,
        disabled_at: r.disabled_at.map(|t| t.to_jiff()),
        created_at: r.created_at.to_jiff(),
        last_seen_at: r.last_seen_at.map(|t| t.to_jiff()),
    })
    .fetch_optional(conn)
    .await
}

/// Id and password hash of somebody who may sign in.
pub async fn credentials(
    conn: &mut PgConnection,
    email: &str,
) -> sqlx::Result<Option<(Uuid, String)>> {
    sqlx::query!(
        "select user_id, password_hash from app_user where lower(email) = lower($1) and disabled_at is null",
        email
    )
    .map(|r| (r.user_id, r.password_hash))
    .fetch_optional(conn)
    .await
}

/// Password hash by id; none for somebody disabled.
pub async fn password_hash(conn: &mut PgConnection, id: Uuid) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar!(
        "select password_hash from app_user where user_id = $1 and disabled_at is null",
        id
    )
    .fetch_optional(conn)
    .await
}

/// Id by address.
pub async fn by_email(conn: &mut PgConnection, email: &str) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar!("select user_id from app_user where lower(email) = lower($1)", email)
        .fetch_optional(conn)
        .await
}

#[derive(Debug)]
pub struct NewUser<'a> {
    pub id: Uuid,
    pub email: &'a str,
    pub name: &'a str,
    pub role: &'a str,
    pub password_hash: &'a str,
}

pub async fn insert(
    conn: &mut PgConnection,
    user: &NewUser<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into app_user (user_id, email, name, role, password_hash, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $6)",
        user.id,
        user.email,
        user.name,
        user.role,
        user.password_hash,
        now.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Changes what is given. False when there is nobody of that id.
pub async fn update(
    conn: &mut PgConnection,
    id: Uuid,
    name: Option<&str>,
    role: Option<&str>,
    disabled: Option<bool>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update app_user set name = coalesce($2, name), role = coalesce($3, role),
             disabled_at = case when $4::bool is null then disabled_at
                                when $4 then coalesce(disabled_at, $5) end,
             updated_at = $5
         where user_id = $1",
        id,
        name,
        role,
        disabled,
        now.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn set_password(
    conn: &mut PgConnection,
    id: Uuid,
    hash: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update app_user set password_hash = $2, updated_at = $3 where user_id = $1",
        id,
        hash,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Administrators that are not disabled, locked, so that two demotions at once cannot leave none.
pub async fn lock_admins(conn: &mut PgConnection) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar!(
        "select user_id from app_user where role = 'admin' and disabled_at is null order by user_id for update"
    )
    .fetch_all(conn)
    .await
}

/// Whether somebody can administer.
pub async fn any_admin(conn: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select 1 from app_user where role = 'admin' and disabled_at is null) as "there!""#
    )
    .fetch_one(conn)
    .await
}
