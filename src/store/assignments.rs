//! What agents have to probe, as their stream reads it.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::ids::{LocationKey, MonitorKey};

/// The revision that is reached.
pub async fn head(conn: &mut PgConnection) -> sqlx::Result<i64> {
    sqlx::query_scalar!("select rev from assignment_head").fetch_one(conn).await
}

/// The oldest revision whose change is still kept; none when nothing is.
pub async fn oldest(conn: &mut PgConnection) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar!("select min(rev) from assignment_change").fetch_one(conn).await
}

/// What happened after a revision, as far as it concerns one location: a monitor's settings (any
/// monitor: it may have left the location), the location's own vote, or the location itself.
#[derive(Debug, Clone)]
pub struct ChangeRow {
    pub rev: i64,
    pub kind: String,
    pub monitor: Option<MonitorKey>,
}

pub async fn since(
    conn: &mut PgConnection,
    rev: i64,
    location: LocationKey,
) -> sqlx::Result<Vec<ChangeRow>> {
    sqlx::query!(
        "select rev, kind, monitor_id from assignment_change
         where rev > $1 and (location_id is null or location_id = $2) order by rev",
        rev,
        location.0
    )
    .map(|r| ChangeRow { rev: r.rev, kind: r.kind, monitor: r.monitor_id.map(MonitorKey) })
    .fetch_all(conn)
    .await
}

/// What decides, beside the revision, who probes what at a location.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sharing {
    /// Agents heard after `offline`, by id: those that probe for it.
    pub online: Vec<Uuid>,
    /// Windows that pause probes, by id.
    pub pausing: Vec<Uuid>,
}

pub async fn sharing(
    conn: &mut PgConnection,
    location: LocationKey,
    now: Timestamp,
    offline: Timestamp,
) -> sqlx::Result<Sharing> {
    sqlx::query!(
        r#"select (select coalesce(array_agg(agent_id order by agent_id), '{}') from agent
                   where location_id = $1 and revoked_at is null and last_seen_at > $3) as "online!",
                  (select coalesce(array_agg(maintenance_id order by maintenance_id), '{}') from maintenance
                   where pause_probes and start_at <= $2 and end_at > $2) as "pausing!""#,
        location.0,
        now.to_sqlx(),
        offline.to_sqlx()
    )
    .map(|r| Sharing { online: r.online, pausing: r.pausing })
    .fetch_one(conn)
    .await
}

/// Keys and outside ids of what a location looks at: monitors that are enabled, while the location is,
/// and that no window pauses.
pub async fn keys(
    conn: &mut PgConnection,
    location: LocationKey,
    now: Timestamp,
) -> sqlx::Result<Vec<(MonitorKey, Uuid)>> {
    sqlx::query!(
        "select m.monitor_id, m.uid from monitor_location ml
         join monitor m using (monitor_id) join location l using (location_id)
         where ml.location_id = $1 and m.enabled and m.deleted_at is null and l.enabled and l.deleted_at is null
           and not exists (select 1 from maintenance w where w.pause_probes and w.start_at <= $2 and w.end_at > $2
                           and (w.monitors is null or m.monitor_id = any(w.monitors)))
         order by m.monitor_id",
        location.0,
        now.to_sqlx()
    )
    .map(|r| (MonitorKey(r.monitor_id), r.uid))
    .fetch_all(conn)
    .await
}

/// Outside ids, also of monitors that are deleted: an agent may still hold them.
pub async fn uids(
    conn: &mut PgConnection,
    monitors: &[i32],
) -> sqlx::Result<Vec<(MonitorKey, Uuid)>> {
    sqlx::query!("select monitor_id, uid from monitor where monitor_id = any($1)", monitors)
        .map(|r| (MonitorKey(r.monitor_id), r.uid))
        .fetch_all(conn)
        .await
}

/// One monitor as a location probes it.
#[derive(Debug, Clone)]
pub struct AssignmentRow {
    pub key: MonitorKey,
    pub uid: Uuid,
    pub name: String,
    pub check_spec: serde_json::Value,
    pub sealed: Option<Vec<u8>>,
    pub check_version: i32,
    pub interval_s: i32,
    pub timeout_ms: i32,
    pub slow_ms: Option<i32>,
    pub policy: serde_json::Value,
    pub position: i16,
    pub of: i64,
    pub live: String,
}

pub async fn rows(
    conn: &mut PgConnection,
    location: LocationKey,
    monitors: &[i32],
) -> sqlx::Result<Vec<AssignmentRow>> {
    sqlx::query!(
        r#"select m.monitor_id, m.uid, m.name, m.check_spec, m.sealed, m.check_version, m.interval_s, m.timeout_ms,
                  m.slow_ms, m.policy, ml.position, v.live,
                  (select count(*) from monitor_location o where o.monitor_id = m.monitor_id) as "of!"
           from monitor_location ml join monitor m using (monitor_id) join monitor_live v using (monitor_id)
           where ml.location_id = $1 and m.monitor_id = any($2) order by m.monitor_id"#,
        location.0,
        monitors
    )
    .map(|r| AssignmentRow {
        key: MonitorKey(r.monitor_id),
        uid: r.uid,
        name: r.name,
        check_spec: r.check_spec,
        sealed: r.sealed,
        check_version: r.check_version,
        interval_s: r.interval_s,
        timeout_ms: r.timeout_ms,
        slow_ms: r.slow_ms,
        policy: r.policy,
        position: r.position,
        of: r.of,
        live: r.live,
    })
    .fetch_all(conn)
    .await
}
