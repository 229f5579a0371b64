//! API tokens. Constraint `api_token_name_key`: a name is in use once among those not revoked.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

#[derive(Debug, Clone)]
pub struct TokenRow {
    pub id: Uuid,
    pub name: String,
    /// viewer, editor or admin; the column's check holds no others.
    pub role: String,
    pub created_by: String,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// Id, name and role of a token that is good now, when it was used last, and when it ends.
#[derive(Debug, Clone)]
pub struct ActiveToken {
    pub id: Uuid,
    pub name: String,
    pub role: String,
    pub last_used_at: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
}

pub async fn find(
    conn: &mut PgConnection,
    hash: &[u8; 32],
    now: Timestamp,
) -> sqlx::Result<Option<ActiveToken>> {
    sqlx::query!(
        "select token_id, name, role, last_used_at, expires_at from api_token
         where token_hash = $1 and revoked_at is null and (expires_at is null or expires_at > $2)",
        hash.as_slice(),
        now.to_sqlx()
    )
    .map(|r| ActiveToken {
        id: r.token_id,
        name: r.name,
        role: r.role,
        last_used_at: r.last_used_at.map(|t| t.to_jiff()),
        expires_at: r.expires_at.map(|t| t.to_jiff()),
    })
    .fetch_optional(conn)
    .await
}

pub async fn touch(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!("update api_token set last_used_at = $2 where token_id = $1", id, now.to_sqlx())
        .execute(conn)
        .await?;
    Ok(())
}

#[derive(Debug)]
pub struct NewToken<'a> {
    pub id: Uuid,
    pub name: &'a str,
    pub role: &'a str,
    pub hash: [u8; 32],
    pub created_by: &'a str,
    pub expires_at: Option<Timestamp>,
}

pub async fn insert(
    conn: &mut PgConnection,
    new: &NewToken<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into api_token (token_id, name, role, token_hash, created_by, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7)",
        new.id,
        new.name,
        new.role,
        new.hash.as_slice(),
        new.created_by,
        now.to_sqlx(),
        new.expires_at.map(|t| t.to_sqlx()) as _,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// All but those revoked before `since`, by name.
pub async fn list(conn: &mut PgConnection, since: Timestamp) -> sqlx::Result<Vec<TokenRow>> {
    sqlx::query!(
        "select token_id, name, role, created_by, created_at, last_used_at, expires_at, revoked_at from api_token
         where revoked_at is null or revoked_at >= $1 order by revoked_at is not null, lower(name), token_id",
        since.to_sqlx()
    )
    .map(|r| TokenRow {
        id: r.token_id,
        name: r.name,
        role: r.role,
        created_by: r.created_by,
        created_at: r.created_at.to_jiff(),
        last_used_at: r.last_used_at.map(|t| t.to_jiff()),
        expires_at: r.expires_at.map(|t| t.to_jiff()),
        revoked_at: r.revoked_at.map(|t| t.to_jiff()),
    })
    .fetch_all(conn)
    .await
}

/// The name of what was revoked; none when there is no such token or it was revoked before.
pub async fn revoke(
    conn: &mut PgConnection,
    id: Uuid,
    now: Timestamp,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar!(
        "update api_token set revoked_at = $2 where token_id = $1 and revoked_at is null returning name",
        id,
        now.to_sqlx()
    )
    .fetch_optional(conn)
    .await
}

/// Revokes by name, so that a new token may take it.
pub async fn revoke_named(conn: &mut PgConnection, name: &str, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update api_token set revoked_at = $2 where name = $1 and revoked_at is null",
        name,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}
