//! Values for `${secret:name}`, sealed. Constraint `secret_name_key`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use super::seal::Place;

#[derive(Debug, Clone)]
pub struct SecretRow {
    pub name: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Where a secret is sealed: by name, so that it cannot be moved under another one.
pub fn place(name: &str) -> Place<'_> {
    Place { table: "secret", column: "sealed", row: name }
}

pub async fn list(conn: &mut PgConnection) -> sqlx::Result<Vec<SecretRow>> {
    sqlx::query!("select name, created_at, updated_at from secret order by name")
        .map(|r| SecretRow {
            name: r.name,
            created_at: r.created_at.to_jiff(),
            updated_at: r.updated_at.to_jiff(),
        })
        .fetch_all(conn)
        .await
}

/// Creates or replaces.
pub async fn put(
    conn: &mut PgConnection,
    id: Uuid,
    name: &str,
    sealed: &[u8],
    now: Timestamp,
) -> sqlx::Result<SecretRow> {
    sqlx::query!(
        "insert into secret (secret_id, name, sealed, created_at, updated_at) values ($1, $2, $3, $4, $4)
         on conflict (name) do update set sealed = excluded.sealed, updated_at = excluded.updated_at
         returning name, created_at, updated_at",
        id,
        name,
        sealed,
        now.to_sqlx()
    )
    .map(|r| SecretRow { name: r.name, created_at: r.created_at.to_jiff(), updated_at: r.updated_at.to_jiff() })
    .fetch_one(conn)
    .await
}

/// False when there is none of that name.
pub async fn delete(conn: &mut PgConnection, name: &str) -> sqlx::Result<bool> {
    Ok(sqlx::query!("delete from secret where name = $1", name)
        .execute(conn)
        .await?
        .rows_affected()
        == 1)
}

/// Name and sealed value of those named.
pub async fn sealed(
    conn: &mut PgConnection,
    names: &[String],
) -> sqlx::Result<Vec<(String, Vec<u8>)>> {
    sqlx::query!("select name, sealed from secret where name = any($1)", names)
        .map(|r| (r.name, r.sealed))
        .fetch_all(conn)
        .await
}

/// Monitors whose check mentions the secret: key and name.
pub async fn users(conn: &mut PgConnection, name: &str) -> sqlx::Result<Vec<(i32, String)>> {
    sqlx::query!(
        "select monitor_id, name from monitor
         where deleted_at is null and position('${secret:' || $1::text || '}' in check_spec::text) > 0
         order by name",
        name
    )
    .map(|r| (r.monitor_id, r.name))
    .fetch_all(conn)
    .await
}
