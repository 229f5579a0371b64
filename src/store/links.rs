//! One-time links: first administrator, invitation, recovery.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

/// A link that can be used now.
#[derive(Debug, Clone)]
pub struct LinkRow {
    pub id: Uuid,
    /// first_admin, invite or recovery; the column's check holds no others.
    pub purpose: String,
    pub email: Option<String>,
    pub role: Option<String>,
    pub user: Option<Uuid>,
    pub expires_at: Timestamp,
}

#[derive(Debug)]
pub struct NewLink<'a> {
    pub id: Uuid,
    pub hash: [u8; 32],
    pub purpose: &'a str,
    pub email: Option<&'a str>,
    pub role: Option<&'a str>,
    pub user: Option<Uuid>,
    pub expires_at: Timestamp,
}

pub async fn insert(
    conn: &mut PgConnection,
    new: &NewLink<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into one_time_link (link_id, token_hash, purpose, email, role, user_id, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        new.id,
        new.hash.as_slice(),
        new.purpose,
        new.email,
        new.role,
        new.user,
        now.to_sqlx(),
        new.expires_at.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn find(
    conn: &mut PgConnection,
    hash: &[u8; 32],
    now: Timestamp,
) -> sqlx::Result<Option<LinkRow>> {
    sqlx::query!(
        "select l.link_id, l.purpose, coalesce(l.email, u.email) as email, coalesce(l.role, u.role) as role, l.user_id, l.expires_at
         from one_time_link l left join app_user u using (user_id)
         where l.token_hash = $1 and l.used_at is null and l.expires_at > $2",
        hash.as_slice(),
        now.to_sqlx()
    )
    .map(|r| LinkRow {
        id: r.link_id,
        purpose: r.purpose,
        email: r.email,
        role: r.role,
        user: r.user_id,
        expires_at: r.expires_at.to_jiff(),
    })
    .fetch_optional(conn)
    .await
}

/// Uses a link up; false when somebody else was first. The row stays locked until the commit.
pub async fn take(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update one_time_link set used_at = $2 where link_id = $1 and used_at is null",
        id,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Voids links of one purpose that were not used, for one address or all of them.
pub async fn void(
    conn: &mut PgConnection,
    purpose: &str,
    email: Option<&str>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update one_time_link set used_at = $3
         where purpose = $1 and used_at is null and ($2::text is null or lower(email) = lower($2))",
        purpose,
        email,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// One first administrator at a time.
pub async fn lock_first_admin(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtext('quorate.first_admin'))")
        .fetch_one(conn)
        .await?;
    Ok(())
}
