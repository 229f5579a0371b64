//! Monitors as pages show and change them. Constraint `monitor_name_key`. Whoever changes one holds its
//! lock (`store::live::lock`) and reads it after that.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use super::seal::Place;
use crate::domain::ids::{LocationKey, MonitorKey};

/// Everything that was set, and the bookkeeping.
#[derive(Debug, Clone)]
pub struct MonitorRow {
    pub key: MonitorKey,
    pub uid: Uuid,
    pub values: Values,
    pub check_version: i32,
    pub revision: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub state: i16,
    pub since_at: Timestamp,
    /// The locations it is looked at from, in order.
    pub looks_from: Vec<LocationKey>,
}

/// What an edit writes. Shapes of the JSON columns are those of the API.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    pub name: String,
    pub group_name: String,
    pub check_spec: serde_json::Value,
    /// Secrets typed into the check, by name; sealed at [`place`].
    pub sealed: Option<Vec<u8>>,
    pub interval_s: i32,
    pub timeout_ms: i32,
    pub slow_ms: Option<i32>,
    /// `"all"`, `[location uids]` or `{"labels":{…}}`.
    pub locations: serde_json::Value,
    pub policy: serde_json::Value,
    pub labels: serde_json::Value,
    pub channels: Option<serde_json::Value>,
    pub depends_on: serde_json::Value,
    pub fleet: Option<String>,
    pub escalation: Option<String>,
    /// The most first; none: as the settings say.
    pub certificate_days: Option<Vec<i32>>,
    pub runbook_url: Option<String>,
    pub enabled: bool,
}

/// Where a monitor's typed-in secrets are sealed; `row` is its uid as text.
pub fn place(row: &str) -> Place<'_> {
    Place { table: "monitor", column: "sealed", row }
}

/// Key of a monitor that is not deleted.
pub async fn key(conn: &mut PgConnection, uid: Uuid) -> sqlx::Result<Option<MonitorKey>> {
    Ok(sqlx::query_scalar!(
        "select monitor_id from monitor where uid = $1 and deleted_at is null",
        uid
    )
    .fetch_optional(conn)
    .await?
    .map(MonitorKey))
}

pub async fn get(conn: &mut PgConnection, key: MonitorKey) -> sqlx::Result<Option<MonitorRow>> {
    sqlx::query!(
        r#"select m.uid, m.name, m.group_name, m.check_spec, m.sealed, m.interval_s, m.timeout_ms, m.slow_ms, m.locations,
                  m.policy, m.labels, m.channels, m.depends_on, m.fleet, m.escalation, m.runbook_url, m.enabled, m.certificate_days,
                  m.check_version, m.revision, m.created_at, m.updated_at, v.state, v.since_at,
                  coalesce((select array_agg(l.location_id order by l.position) from monitor_location l
                            where l.monitor_id = m.monitor_id), '{}') as "looks_from!"
           from monitor m join monitor_live v using (monitor_id)
           where m.monitor_id = $1 and m.deleted_at is null"#,
        key.0
    )
    .map(|r| MonitorRow {
        key,
        uid: r.uid,
        values: Values {
            name: r.name,
            group_name: r.group_name,
            check_spec: r.check_spec,
            sealed: r.sealed,
            interval_s: r.interval_s,
            timeout_ms: r.timeout_ms,
            slow_ms: r.slow_ms,
            locations: r.locations,
            policy: r.policy,
            labels: r.labels,
            channels: r.channels,
            depends_on: r.depends_on,
            fleet: r.fleet,
            escalation: r.escalation,
            certificate_days: r.certificate_days,
            runbook_url: r.runbook_url,
            enabled: r.enabled,
        },
        check_version: r.check_version,
        revision: r.revision,
        created_at: r.created_at.to_jiff(),
        updated_at: r.updated_at.to_jiff(),
        state: r.state,
        since_at: r.since_at.to_jiff(),
        looks_from: r.looks_from.into_iter().map(LocationKey).collect(),
    })
    .fetch_optional(conn)
    .await
}

pub async fn insert(
    conn: &mut PgConnection,
    uid: Uuid,
    v: &Values,
    now: Timestamp,
) -> sqlx::Result<MonitorKey> {
    sqlx::query_scalar!(
        "insert into monitor (uid, name, group_name, check_spec, sealed, interval_s, timeout_ms, slow_ms, locations,
             policy, labels, channels, depends_on, fleet, escalation, runbook_url, enabled, created_at, updated_at,
             certificate_days)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $18, $19)
         returning monitor_id",
        uid,
        v.name,
        v.group_name,
        v.check_spec,
        v.sealed,
        v.interval_s,
        v.timeout_ms,
        v.slow_ms,
        v.locations,
        v.policy,
        v.labels,
        v.channels as _,
        v.depends_on,
        v.fleet,
        v.escalation,
        v.runbook_url,
        v.enabled,
        now.to_sqlx(),
        v.certificate_days.as_deref() as _,
    )
    .fetch_one(conn)
    .await
    .map(MonitorKey)
}

/// Writes everything; the revision rises, and the check version when agents must start afresh.
pub async fn update(
    conn: &mut PgConnection,
    key: MonitorKey,
    v: &Values,
    new_check: bool,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update monitor set name = $2, group_name = $3, check_spec = $4, sealed = $5, interval_s = $6, timeout_ms = $7,
             slow_ms = $8, locations = $9, policy = $10, labels = $11, channels = $12, depends_on = $13, fleet = $14,
             escalation = $15, runbook_url = $16, enabled = $17, updated_at = $18, revision = revision + 1,
             check_version = check_version + $19, certificate_days = $20
         where monitor_id = $1",
        key.0,
        v.name,
        v.group_name,
        v.check_spec,
        v.sealed,
        v.interval_s,
        v.timeout_ms,
        v.slow_ms,
        v.locations,
        v.policy,
        v.labels,
        v.channels as _,
        v.depends_on,
        v.fleet,
        v.escalation,
        v.runbook_url,
        v.enabled,
        now.to_sqlx(),
        i32::from(new_check),
        v.certificate_days.as_deref() as _,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Frees the name; the row stays, because history refers to it.
pub async fn delete(conn: &mut PgConnection, key: MonitorKey, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "update monitor set deleted_at = $2, updated_at = $2, enabled = false, sealed = null where monitor_id = $1",
        key.0,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Replaces the locations of many monitors at once: `of[i]` looks from `location[i]` at `position[i]`.
/// Raises `config_rev`, so that no coordinator goes on with the old ones.
pub async fn set_locations(
    conn: &mut PgConnection,
    monitors: &[i32],
    of: &[i32],
    location: &[i16],
    position: &[i16],
) -> sqlx::Result<()> {
    sqlx::query!("delete from monitor_location where monitor_id = any($1)", monitors)
        .execute(&mut *conn)
        .await?;
    sqlx::query!(
        "insert into monitor_location (monitor_id, location_id, position)
         select * from unnest($1::int4[], $2::int2[], $3::int2[])",
        of,
        location,
        position
    )
    .execute(&mut *conn)
    .await?;
    raise_config(conn, monitors).await
}

/// Whoever remembers settings must read them again.
pub async fn raise_config(conn: &mut PgConnection, monitors: &[i32]) -> sqlx::Result<()> {
    sqlx::query!(
        "update monitor_live set config_rev = config_rev + 1 where monitor_id = any($1)",
        monitors
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A monitor whose set of locations follows a rule.
#[derive(Debug, Clone)]
pub struct Selecting {
    pub key: MonitorKey,
    pub name: String,
    pub enabled: bool,
    pub locations: serde_json::Value,
    pub looks_from: Vec<i16>,
}

/// Monitors above `after` that are probed, in key order, with their rule and what it gave.
pub async fn selecting(
    conn: &mut PgConnection,
    after: i32,
    limit: i64,
) -> sqlx::Result<Vec<Selecting>> {
    sqlx::query!(
        r#"select m.monitor_id, m.name, m.enabled, m.locations,
                  coalesce((select array_agg(l.location_id order by l.position) from monitor_location l
                            where l.monitor_id = m.monitor_id), '{}') as "looks_from!"
           from monitor m
           where m.deleted_at is null and m.monitor_id > $1 and m.check_spec ->> 'kind' <> 'heartbeat'
           order by m.monitor_id limit $2"#,
        after,
        limit
    )
    .map(|r| Selecting {
        key: MonitorKey(r.monitor_id),
        name: r.name,
        enabled: r.enabled,
        locations: r.locations,
        looks_from: r.looks_from,
    })
    .fetch_all(conn)
    .await
}

/// Ids and names of monitors, those of the given ids or names.
pub async fn named(
    conn: &mut PgConnection,
    words: &[String],
) -> sqlx::Result<Vec<(MonitorKey, Uuid, String)>> {
    sqlx::query!(
        "select monitor_id, uid, name from monitor
         where deleted_at is null and (name = any($1) or uid::text = any($1)) order by name",
        words
    )
    .map(|r| (MonitorKey(r.monitor_id), r.uid, r.name))
    .fetch_all(conn)
    .await
}

/// Whether a name is in use by another monitor.
pub async fn name_taken(
    conn: &mut PgConnection,
    name: &str,
    but: Option<Uuid>,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select 1 from monitor where name = $1 and deleted_at is null
                          and ($2::uuid is null or uid <> $2)) as "taken!""#,
        name,
        but
    )
    .fetch_one(conn)
    .await
}
