//! Sign-ins. The cookie's key is stored as a hash.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

/// A sign-in that is good now, with whose it is.
#[derive(Debug, Clone)]
pub struct ActiveSession {
    pub session: Uuid,
    pub user: Uuid,
    pub email: String,
    pub name: String,
    pub role: String,
    pub created_at: Timestamp,
    pub last_seen_at: Timestamp,
    pub expires_at: Timestamp,
}

pub async fn find(
    conn: &mut PgConnection,
    hash: &[u8; 32],
    now: Timestamp,
) -> sqlx::Result<Option<ActiveSession>> {
    sqlx::query!(
        "select s.session_id, s.user_id, u.email, u.name, u.role, s.created_at, s.last_seen_at, s.expires_at
         from session s join app_user u using (user_id)
         where s.token_hash = $1 and s.expires_at > $2 and u.disabled_at is null",
        hash.as_slice(),
        now.to_sqlx()
    )
    .map(|r| ActiveSession {
        session: r.session_id,
        user: r.user_id,
        email: r.email,
        name: r.name,
        role: r.role,
        created_at: r.created_at.to_jiff(),
        last_seen_at: r.last_seen_at.to_jiff(),
        expires_at: r.expires_at.to_jiff(),
    })
    .fetch_optional(conn)
    .await
}

#[derive(Debug)]
pub struct NewSession<'a> {
    pub id: Uuid,
    pub hash: [u8; 32],
    pub user: Uuid,
    pub user_agent: &'a str,
    pub expires_at: Timestamp,
}

pub async fn insert(
    conn: &mut PgConnection,
    new: &NewSession<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into session (session_id, token_hash, user_id, created_at, last_seen_at, expires_at, user_agent)
         values ($1, $2, $3, $4, $4, $5, $6)",
        new.id,
        new.hash.as_slice(),
        new.user,
        now.to_sqlx(),
        new.expires_at.to_sqlx(),
        new.user_agent,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// It was used: remember when, and let it live on.
pub async fn touch(
    conn: &mut PgConnection,
    id: Uuid,
    now: Timestamp,
    expires_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update session set last_seen_at = $2, expires_at = $3 where session_id = $1",
        id,
        now.to_sqlx(),
        expires_at.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn delete_by_hash(conn: &mut PgConnection, hash: &[u8; 32]) -> sqlx::Result<()> {
    sqlx::query!("delete from session where token_hash = $1", hash.as_slice())
        .execute(conn)
        .await?;
    Ok(())
}

/// False when that user has no such sign-in.
pub async fn delete(conn: &mut PgConnection, user: Uuid, id: Uuid) -> sqlx::Result<bool> {
    let done = sqlx::query!("delete from session where user_id = $1 and session_id = $2", user, id)
        .execute(conn)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends all sign-ins of somebody, but perhaps one.
pub async fn delete_all(
    conn: &mut PgConnection,
    user: Uuid,
    but: Option<Uuid>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from session where user_id = $1 and ($2::uuid is null or session_id <> $2)",
        user,
        but
    )
    .execute(conn)
    .await?;
    Ok(())
}

#[derive(Debug, Clone)]
pub struct SessionRow {
    pub id: Uuid,
    pub created_at: Timestamp,
    pub last_seen_at: Timestamp,
    pub user_agent: String,
}

/// Somebody's sign-ins that are good now, the latest used first.
pub async fn list(
    conn: &mut PgConnection,
    user: Uuid,
    now: Timestamp,
) -> sqlx::Result<Vec<SessionRow>> {
    sqlx::query!(
        "select session_id, created_at, last_seen_at, user_agent from session
         where user_id = $1 and expires_at > $2 order by last_seen_at desc, session_id",
        user,
        now.to_sqlx()
    )
    .map(|r| SessionRow {
        id: r.session_id,
        created_at: r.created_at.to_jiff(),
        last_seen_at: r.last_seen_at.to_jiff(),
        user_agent: r.user_agent,
    })
    .fetch_all(conn)
    .await
}
