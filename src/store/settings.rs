//! Settings by name: a JSON value, and beside it what must be sealed. The names in use:
//! `general` (`{"public_url","report_zone"}`), `retention`, `mail` with the mail server's password, `alerts`
//! (`{"fallback","storm_monitors"}`) and `deadman` with the sealed address that is pinged.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use super::seal::Place;

#[derive(Debug, Clone)]
pub struct Setting {
    pub value: serde_json::Value,
    pub sealed: Option<Vec<u8>>,
    pub updated_at: Timestamp,
}

/// Where the secret of a setting is sealed.
pub fn place(name: &str) -> Place<'_> {
    Place { table: "setting", column: "sealed", row: name }
}

pub async fn get(conn: &mut PgConnection, name: &str) -> sqlx::Result<Option<Setting>> {
    sqlx::query!("select value, sealed, updated_at from setting where name = $1", name)
        .map(|row| Setting {
            value: row.value,
            sealed: row.sealed,
            updated_at: row.updated_at.to_jiff(),
        })
        .fetch_optional(conn)
        .await
}

pub async fn put(
    conn: &mut PgConnection,
    name: &str,
    value: &serde_json::Value,
    sealed: Option<&[u8]>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into setting (name, value, sealed, updated_at) values ($1, $2, $3, $4)
         on conflict (name) do update
             set value = excluded.value, sealed = excluded.sealed, updated_at = excluded.updated_at",
        name,
        value,
        sealed,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// False when it was not there.
pub async fn delete(conn: &mut PgConnection, name: &str) -> sqlx::Result<bool> {
    let done = sqlx::query!("delete from setting where name = $1", name).execute(conn).await?;
    Ok(done.rows_affected() == 1)
}
