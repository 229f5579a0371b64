//! Routes from labels to who is told, in their order. Constraint `route_name_key`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::escalation::route::{Route, Rules};

#[derive(Debug, Clone)]
pub struct RouteRow {
    pub id: Uuid,
    pub name: String,
    pub rules: Rules,
    pub revision: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl From<RouteRow> for Route {
    fn from(row: RouteRow) -> Self {
        Self { id: row.id, name: row.name, rules: row.rules }
    }
}

/// Adds a route behind all others.
pub async fn insert(
    conn: &mut PgConnection,
    id: Uuid,
    name: &str,
    rules: &Rules,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into route (route_id, name, position, rules, created_at, updated_at)
         select $1, $2, coalesce(max(position), 0) + 1, $3, $4, $4 from route",
        id,
        name,
        super::json::of(rules)?,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Writes everything but the place; the revision rises.
pub async fn update(
    conn: &mut PgConnection,
    id: Uuid,
    name: &str,
    rules: &Rules,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update route set name = $2, rules = $3, updated_at = $4, revision = revision + 1 where route_id = $1",
        id,
        name,
        super::json::of(rules)?,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn delete(conn: &mut PgConnection, id: Uuid) -> sqlx::Result<()> {
    sqlx::query!("delete from route where route_id = $1", id).execute(conn).await?;
    Ok(())
}

/// Puts them in the order of `ids`.
pub async fn order(conn: &mut PgConnection, ids: &[Uuid]) -> sqlx::Result<()> {
    sqlx::query!(
        "update route r set position = o.n
         from unnest($1::uuid[]) with ordinality as o (id, n) where r.route_id = o.id",
        ids
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Holds the whole list for an edit: places and names are taken together.
pub async fn lock(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtext('quorate routes'))")
        .fetch_one(conn)
        .await?;
    Ok(())
}

/// All of them in their order; there are few.
pub async fn list(conn: &mut PgConnection) -> sqlx::Result<Vec<RouteRow>> {
    let rows = sqlx::query!(
        "select route_id, name, rules, revision, created_at, updated_at from route order by position, route_id"
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(RouteRow {
                id: row.route_id,
                name: row.name,
                rules: super::json::read(row.rules)?,
                revision: row.revision,
                created_at: row.created_at.to_jiff(),
                updated_at: row.updated_at.to_jiff(),
            })
        })
        .collect()
}
