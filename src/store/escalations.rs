//! Escalation policies. Constraint `escalation_name_key`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::escalation::Policy;

#[derive(Debug, Clone)]
pub struct EscalationRow {
    pub id: Uuid,
    pub name: String,
    pub rules: Policy,
    pub revision: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

pub async fn insert(
    conn: &mut PgConnection,
    id: Uuid,
    name: &str,
    rules: &Policy,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into escalation (escalation_id, name, rules, created_at, updated_at) values ($1, $2, $3, $4, $4)",
        id,
        name,
        super::json::of(rules)?,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Writes everything; the revision rises.
pub async fn update(
    conn: &mut PgConnection,
    id: Uuid,
    name: &str,
    rules: &Policy,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update escalation set name = $2, rules = $3, updated_at = $4, revision = revision + 1
         where escalation_id = $1",
        id,
        name,
        super::json::of(rules)?,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Frees the name.
pub async fn delete(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update escalation set deleted_at = $2 where escalation_id = $1",
        id,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// One by its id. `lock` holds it for an edit.
pub async fn get(
    conn: &mut PgConnection,
    id: Uuid,
    lock: bool,
) -> sqlx::Result<Option<EscalationRow>> {
    if lock {
        sqlx::query!("select from escalation where escalation_id = $1 for no key update", id)
            .fetch_optional(&mut *conn)
            .await?;
    }
    Ok(select(conn, Some(id)).await?.pop())
}

/// One by its id or name.
pub async fn named(conn: &mut PgConnection, word: &str) -> sqlx::Result<Option<EscalationRow>> {
    let all = select(conn, None).await?;
    Ok(all.into_iter().find(|row| row.name == word || row.id.to_string() == word))
}

/// All of them by name; there are few.
pub async fn list(conn: &mut PgConnection) -> sqlx::Result<Vec<EscalationRow>> {
    select(conn, None).await
}

/// Names of live monitors that name it, at most three.
pub async fn monitors_of(conn: &mut PgConnection, id: Uuid) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        "select name from monitor where escalation = $1 and deleted_at is null order by lower(name) limit 3",
        id.to_string()
    )
    .fetch_all(conn)
    .await
}

/// Names of policies and routes that name a channel.
pub async fn naming_channel(conn: &mut PgConnection, channel: Uuid) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"select 'escalation ' || name as "name!" from escalation, jsonb_array_elements(rules -> 'steps') as step
           where deleted_at is null and step -> 'channels' ? $1
           union
           select 'route ' || name from route where jsonb_typeof(rules -> 'channels') = 'array' and rules -> 'channels' ? $1
           order by 1"#,
        channel.to_string()
    )
    .fetch_all(conn)
    .await
}

async fn select(conn: &mut PgConnection, id: Option<Uuid>) -> sqlx::Result<Vec<EscalationRow>> {
    let rows = sqlx::query!(
        "select escalation_id, name, rules, revision, created_at, updated_at from escalation
         where deleted_at is null and ($1::uuid is null or escalation_id = $1) order by lower(name), escalation_id",
        id
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(EscalationRow {
                id: row.escalation_id,
                name: row.name,
                rules: super::json::read(row.rules)?,
                revision: row.revision,
                created_at: row.created_at.to_jiff(),
                updated_at: row.updated_at.to_jiff(),
            })
        })
        .collect()
}
