//! Locations as pages show and change them. Constraint `location_name_key`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::ids::LocationKey;

#[derive(Debug, Clone)]
pub struct LocationRow {
    pub key: LocationKey,
    pub uid: Uuid,
    pub name: String,
    pub region: String,
    pub domain: String,
    /// An object of text.
    pub labels: serde_json::Value,
    pub enabled: bool,
    pub simulated: bool,
    pub created_at: Timestamp,
    /// How many monitors look from here.
    pub monitors: i64,
}

/// Locations that are not deleted, in the order they were added.
pub async fn list(conn: &mut PgConnection) -> sqlx::Result<Vec<LocationRow>> {
    sqlx::query!(
        r#"select l.location_id, l.uid, l.name, l.region, l.domain, l.labels, l.enabled, l.simulated, l.created_at,
                  (select count(*) from monitor_location ml join monitor m using (monitor_id)
                   where ml.location_id = l.location_id and m.deleted_at is null) as "monitors!"
           from location l where l.deleted_at is null order by l.location_id"#
    )
    .map(|r| LocationRow {
        key: LocationKey(r.location_id),
        uid: r.uid,
        name: r.name,
        region: r.region,
        domain: r.domain,
        labels: r.labels,
        enabled: r.enabled,
        simulated: r.simulated,
        created_at: r.created_at.to_jiff(),
        monitors: r.monitors,
    })
    .fetch_all(conn)
    .await
}

#[derive(Debug)]
pub struct NewLocation<'a> {
    pub uid: Uuid,
    pub name: &'a str,
    pub region: &'a str,
    pub domain: &'a str,
    pub labels: &'a serde_json::Value,
    pub enabled: bool,
    pub simulated: bool,
}

pub async fn insert(
    conn: &mut PgConnection,
    new: &NewLocation<'_>,
    now: Timestamp,
) -> sqlx::Result<LocationKey> {
    sqlx::query_scalar!(
        "insert into location (uid, name, region, domain, labels, enabled, simulated, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8) returning location_id",
        new.uid,
        new.name,
        new.region,
        new.domain,
        new.labels,
        new.enabled,
        new.simulated,
        now.to_sqlx(),
    )
    .fetch_one(conn)
    .await
    .map(LocationKey)
}

#[derive(Debug, Default)]
pub struct Changes<'a> {
    pub name: Option<&'a str>,
    pub region: Option<&'a str>,
    pub domain: Option<&'a str>,
    pub labels: Option<&'a serde_json::Value>,
    pub enabled: Option<bool>,
}

/// Changes what is given.
pub async fn update(
    conn: &mut PgConnection,
    key: LocationKey,
    change: &Changes<'_>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update location set name = coalesce($2, name), region = coalesce($3, region), domain = coalesce($4, domain),
             labels = coalesce($5, labels), enabled = coalesce($6, enabled)
         where location_id = $1 and deleted_at is null",
        key.0,
        change.name,
        change.region,
        change.domain,
        change.labels as _,
        change.enabled,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Frees the name; the row stays, because results refer to it.
pub async fn delete(conn: &mut PgConnection, key: LocationKey, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update location set deleted_at = $2, enabled = false where location_id = $1 and deleted_at is null",
        key.0,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Names of locations, deleted ones too, for rows that refer to them.
pub async fn names(conn: &mut PgConnection) -> sqlx::Result<Vec<(LocationKey, Uuid, String)>> {
    sqlx::query!("select location_id, uid, name from location order by location_id")
        .map(|r| (LocationKey(r.location_id), r.uid, r.name))
        .fetch_all(conn)
        .await
}

/// One change of the set of locations at a time, so that two do not materialise over each other. Taken
/// before any monitor is locked.
pub async fn lock_set(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtext('quorate.locations'))")
        .fetch_one(conn)
        .await?;
    Ok(())
}

/// While monitors are saved the set must not change; several may be saved at once.
pub async fn lock_set_shared(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("select pg_advisory_xact_lock_shared(hashtext('quorate.locations'))")
        .fetch_one(conn)
        .await?;
    Ok(())
}
