//! What triage reads beside the live rows: standings of locations, windows, leniency, and monitors'
//! settings when they are not cached.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::ids::{LocationKey, MonitorKey};
use crate::domain::location::health::Trust;

#[derive(Debug, Clone, serde::Deserialize)]
pub struct LocationRow {
    #[serde(rename = "location_id")]
    pub location: LocationKey,
    pub uid: Uuid,
    pub name: String,
    pub region: String,
    pub domain: String,
    pub enabled: bool,
    pub simulated: bool,
    /// At least one of its agents was heard within 30 s.
    pub online: bool,
    pub quarantined: bool,
    /// By hand, while it holds.
    pub trust: Option<Trust>,
}

/// All locations that are not deleted, by key.
pub async fn locations(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<Vec<LocationRow>> {
    sqlx::query!(
        r#"select l.location_id, l.uid, l.name, l.region, l.domain, l.enabled, l.simulated,
                  exists (select 1 from agent a where a.location_id = l.location_id and a.revoked_at is null
                          and a.last_seen_at > $1::timestamptz - interval '30 seconds') as "online!",
                  h.quarantined_since is not null as "quarantined!", t.kind as "trust?"
           from location l left join location_health h using (location_id)
           left join location_trust t on t.location_id = l.location_id and t.ended_at is null and t.until_at > $1
           where l.deleted_at is null order by l.location_id"#,
        now.to_sqlx()
    )
    .map(|r| LocationRow {
        location: LocationKey(r.location_id),
        uid: r.uid,
        name: r.name,
        region: r.region,
        domain: r.domain,
        enabled: r.enabled,
        simulated: r.simulated,
        online: r.online,
        quarantined: r.quarantined,
        trust: r.trust.as_deref().and_then(Trust::from_name),
    })
    .fetch_all(conn)
    .await
}

#[derive(Debug, Clone, serde::Deserialize)]
pub struct WindowRow {
    pub start_at: Timestamp,
    pub end_at: Timestamp,
    /// None covers all.
    pub monitors: Option<Vec<i32>>,
    pub suppress_alerts: bool,
    pub pause_probes: bool,
}

/// What every decision of a transaction shares.
#[derive(Debug)]
pub struct ContextRows {
    pub locations: Vec<LocationRow>,
    /// Begun, and ended at most two days ago: their tail, two intervals long, may still matter.
    pub windows: Vec<WindowRow>,
    /// Until when deadlines are lenient.
    pub grace_until: Option<Timestamp>,
    /// More locations are in doubt than may be set aside.
    pub over_cap: bool,
    /// Locations that are divergent on the monitors asked about.
    pub divergent: Vec<(MonitorKey, LocationKey)>,
}

/// All of it in one exchange, because every batch asks.
pub async fn context(
    conn: &mut PgConnection,
    monitors: &[i32],
    now: Timestamp,
) -> sqlx::Result<ContextRows> {
    let row = sqlx::query!(
        r#"select
            coalesce((select json_agg(l order by l.location_id) from (
                select l.location_id, l.uid, l.name, l.region, l.domain, l.enabled, l.simulated,
                       exists (select from agent a where a.location_id = l.location_id and a.revoked_at is null
                               and a.last_seen_at > $1::timestamptz - interval '30 seconds') as online,
                       h.quarantined_since is not null as quarantined, t.kind as trust
                from location l left join location_health h using (location_id)
                left join location_trust t on t.location_id = l.location_id and t.ended_at is null and t.until_at > $1
                where l.deleted_at is null) as l), '[]') as "locations!",
            coalesce((select json_agg(w order by w.start_at) from (
                select start_at, end_at, monitors, suppress_alerts, pause_probes from maintenance
                where start_at <= $1 and end_at > $1::timestamptz - interval '2 days'
                  and locations is null and kind = 'planned') as w), '[]') as "windows!",
            coalesce((select json_agg(json_build_array(monitor_id, location_id)) from location_divergent
                      where monitor_id = any($2) and to_at is null), '[]') as "divergent!",
            exists (select from location_cap) as "over_cap!",
            (select grace_until from sweep) as grace_until"#,
        now.to_sqlx(),
        monitors
    )
    .fetch_one(conn)
    .await?;
    let read = |e: serde_json::Error| sqlx::Error::Decode(e.into());
    Ok(ContextRows {
        locations: serde_json::from_value(row.locations).map_err(read)?,
        windows: serde_json::from_value(row.windows).map_err(read)?,
        grace_until: row.grace_until.map(|t| t.to_jiff()),
        over_cap: row.over_cap,
        divergent: serde_json::from_value(row.divergent).map_err(read)?,
    })
}

/// A monitor's settings as deciding needs them.
#[derive(Debug, Clone)]
pub struct ConfigRow {
    pub monitor: MonitorKey,
    pub config_rev: i32,
    pub interval_s: i32,
    pub timeout_ms: i32,
    pub slow_ms: Option<i32>,
    pub policy: serde_json::Value,
    pub check_version: i32,
    pub enabled: bool,
    pub deleted: bool,
    /// In configured order.
    pub locations: Vec<i16>,
    /// The check of a heartbeat; the others are not needed for deciding.
    pub heartbeat: Option<serde_json::Value>,
}

pub async fn configs(conn: &mut PgConnection, monitors: &[i32]) -> sqlx::Result<Vec<ConfigRow>> {
    sqlx::query!(
        r#"select m.monitor_id, v.config_rev, m.interval_s, m.timeout_ms, m.slow_ms, m.policy, m.check_version, m.enabled,
                  m.deleted_at is not null as "deleted!",
                  coalesce((select array_agg(l.location_id order by l.position) from monitor_location l
                            where l.monitor_id = m.monitor_id), '{}') as "locations!",
                  case when m.check_spec ->> 'kind' = 'heartbeat' then m.check_spec end as heartbeat
           from monitor m join monitor_live v using (monitor_id) where m.monitor_id = any($1)"#,
        monitors
    )
    .map(|r| ConfigRow {
        monitor: MonitorKey(r.monitor_id),
        config_rev: r.config_rev,
        interval_s: r.interval_s,
        timeout_ms: r.timeout_ms,
        slow_ms: r.slow_ms,
        policy: r.policy,
        check_version: r.check_version,
        enabled: r.enabled,
        deleted: r.deleted,
        locations: r.locations,
        heartbeat: r.heartbeat,
    })
    .fetch_all(conn)
    .await
}

/// Keys of monitors by outside id; deleted ones are absent.
pub async fn keys(conn: &mut PgConnection, uids: &[Uuid]) -> sqlx::Result<Vec<(Uuid, MonitorKey)>> {
    sqlx::query!(
        "select uid, monitor_id from monitor where uid = any($1) and deleted_at is null",
        uids
    )
    .map(|r| (r.uid, MonitorKey(r.monitor_id)))
    .fetch_all(conn)
    .await
}

/// What notices say of a monitor.
#[derive(Debug, Clone)]
pub struct MonitorFacts {
    pub monitor: MonitorKey,
    pub uid: Uuid,
    pub name: String,
    pub group: String,
    pub check_spec: serde_json::Value,
    pub labels: serde_json::Value,
    pub channels: Option<serde_json::Value>,
    pub escalation: Option<String>,
    pub runbook_url: Option<String>,
}

pub async fn facts(conn: &mut PgConnection, monitor: MonitorKey) -> sqlx::Result<MonitorFacts> {
    sqlx::query!(
        "select uid, name, group_name, check_spec, labels, channels, escalation, runbook_url from monitor where monitor_id = $1",
        monitor.0
    )
    .map(|r| MonitorFacts {
        monitor,
        uid: r.uid,
        name: r.name,
        group: r.group_name,
        check_spec: r.check_spec,
        labels: r.labels,
        channels: r.channels,
        escalation: r.escalation,
        runbook_url: r.runbook_url,
    })
    .fetch_one(conn)
    .await
}

/// How many monitors a location is configured for.
pub async fn monitors_at(conn: &mut PgConnection, location: LocationKey) -> sqlx::Result<usize> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "n!" from monitor_location l join monitor m using (monitor_id)
           where l.location_id = $1 and m.enabled and m.deleted_at is null"#,
        location.0
    )
    .fetch_one(conn)
    .await?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// How many monitors are enabled.
pub async fn enabled(conn: &mut PgConnection) -> sqlx::Result<usize> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "n!" from monitor where enabled and deleted_at is null"#
    )
    .fetch_one(conn)
    .await?;
    Ok(usize::try_from(count).unwrap_or(0))
}
