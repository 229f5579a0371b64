//! Certificates that locations are shown, and what was told of them. Rows of a monitor are written under the lock
//! of its live row. What pages list is `store::certificates_read`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{
    certificate::{habit::Habit, issuer::Kept, watch::Alarm},
    ids::{LocationKey, MonitorKey},
};

/// A certificate as one location was shown it at one address.
#[derive(Debug, Clone)]
pub struct SightRow {
    pub monitor: MonitorKey,
    pub location: LocationKey,
    /// Empty where it is not known.
    pub address: String,
    pub fingerprint: String,
    pub check_version: i32,
    pub since: Timestamp,
    pub last: Timestamp,
    pub not_after: Timestamp,
    pub valid: bool,
    /// Why it is not valid.
    pub problem: Option<String>,
    /// `domain::observation::Certificate`
    pub facts: serde_json::Value,
}

/// Writes what was shown, at most one row for each place; monitors for which that is news are looked at now.
pub async fn put(conn: &mut PgConnection, rows: &[SightRow], now: Timestamp) -> sqlx::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let monitor: Vec<i32> = rows.iter().map(|r| r.monitor.0).collect();
    let location: Vec<i16> = rows.iter().map(|r| r.location.0).collect();
    let address: Vec<String> = rows.iter().map(|r| r.address.clone()).collect();
    let fingerprint: Vec<String> = rows.iter().map(|r| r.fingerprint.clone()).collect();
    let version: Vec<i32> = rows.iter().map(|r| r.check_version).collect();
    let last: Vec<_> = rows.iter().map(|r| r.last.to_sqlx()).collect();
    let not_after: Vec<_> = rows.iter().map(|r| r.not_after.to_sqlx()).collect();
    let valid: Vec<bool> = rows.iter().map(|r| r.valid).collect();
    let problem: Vec<Option<String>> = rows.iter().map(|r| r.problem.clone()).collect();
    // Postgres' jsonb cannot hold the NUL character, which a name may well contain.
    let plain = |facts: &serde_json::Value| facts.to_string().replace("\\u0000", "\\ufffd");
    let facts: Vec<String> = rows.iter().map(|r| plain(&r.facts)).collect();
    sqlx::query!(
        "with given as (
             select g.monitor_id, g.location_id, g.address, g.fingerprint, g.check_version, g.last_at, g.not_after,
                    g.valid, g.problem, g.facts::jsonb as facts
             from unnest($1::int4[], $2::int2[], $3::text[], $4::text[], $5::int4[], $6::timestamptz[],
                         $7::timestamptz[], $8::bool[], $9::text[], $10::text[])
                  as g(monitor_id, location_id, address, fingerprint, check_version, last_at, not_after, valid,
                       problem, facts)
         ), news as (
             select distinct g.monitor_id from given g
             left join certificate_sight s using (monitor_id, location_id, address)
             where (s.fingerprint, s.check_version) is distinct from (g.fingerprint, g.check_version)
                   and (s.last_at is null or s.last_at <= g.last_at)
         ), written as (
             insert into certificate_sight as s
                 (monitor_id, location_id, address, fingerprint, check_version, since_at, last_at, not_after, valid,
                  problem, facts)
             select monitor_id, location_id, address, fingerprint, check_version, last_at, last_at, not_after, valid,
                    problem, facts
             from given
             on conflict (monitor_id, location_id, address) do update
             set since_at = case when s.fingerprint = excluded.fingerprint then s.since_at else excluded.since_at end,
                 fingerprint = excluded.fingerprint, check_version = excluded.check_version,
                 last_at = excluded.last_at, not_after = excluded.not_after, valid = excluded.valid,
                 problem = excluded.problem, facts = excluded.facts
             where s.last_at <= excluded.last_at
         )
         insert into certificate_watch as w (monitor_id, look_at) select monitor_id, $11::timestamptz from news
         on conflict (monitor_id) do update set look_at = least(w.look_at, excluded.look_at)",
        &monitor,
        &location,
        &address,
        &fingerprint,
        &version,
        &last as _,
        &not_after as _,
        &valid,
        &problem as _,
        &facts,
        now.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Monitors whose time has come, the longest waiting first.
pub async fn due(
    conn: &mut PgConnection,
    now: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<MonitorKey>> {
    let keys = sqlx::query_scalar!(
        "select monitor_id from certificate_watch where look_at <= $1 order by look_at, monitor_id limit $2",
        now.to_sqlx(),
        limit
    )
    .fetch_all(conn)
    .await?;
    Ok(keys.into_iter().map(MonitorKey).collect())
}

/// A monitor's settings and what is kept of its certificates.
#[derive(Debug, Clone)]
pub struct Watched {
    pub check_version: i32,
    pub interval_s: i32,
    pub enabled: bool,
    pub edited_at: Timestamp,
    /// Its own thresholds.
    pub days: Option<Vec<i32>>,
    pub look_at: Option<Timestamp>,
    pub kept: Kept,
    pub habit: Habit,
    /// The settings for which these two were seen.
    pub kept_of: i32,
    /// In configured order.
    pub locations: Vec<LocationKey>,
}

/// None once the monitor is deleted.
pub async fn watched(conn: &mut PgConnection, key: MonitorKey) -> sqlx::Result<Option<Watched>> {
    sqlx::query!(
        r#"select m.check_version, m.interval_s, m.enabled, m.updated_at, m.certificate_days, w.look_at, w.issuers,
                  w.differ_since, w.fingerprint, w.not_after, w.renewed_days, w.check_version as kept_of,
                  coalesce((select array_agg(l.location_id order by l.position) from monitor_location l
                            where l.monitor_id = m.monitor_id), '{}') as "locations!"
           from certificate_watch w join monitor m using (monitor_id)
           where w.monitor_id = $1 and m.deleted_at is null"#,
        key.0
    )
    .map(|r| Watched {
        check_version: r.check_version,
        interval_s: r.interval_s,
        enabled: r.enabled,
        edited_at: r.updated_at.to_jiff(),
        days: r.certificate_days,
        look_at: r.look_at.map(|t| t.to_jiff()),
        kept: Kept {
            issuers: r.issuers.into_iter().collect(),
            differ_since: r.differ_since.map(|t| t.to_jiff()),
        },
        habit: Habit {
            current: r.fingerprint.zip(r.not_after.map(|t| t.to_jiff())),
            renewed_days: r.renewed_days,
        },
        kept_of: r.kept_of,
        locations: r.locations.into_iter().map(LocationKey).collect(),
    })
    .fetch_optional(conn)
    .await
}

/// Everything that was shown at a monitor under its present settings, by location and address.
pub async fn sights(
    conn: &mut PgConnection,
    key: MonitorKey,
    check_version: i32,
) -> sqlx::Result<Vec<SightRow>> {
    sqlx::query!(
        "select location_id, address, fingerprint, since_at, last_at, not_after, valid, problem, facts
         from certificate_sight where monitor_id = $1 and check_version = $2 order by location_id, address",
        key.0,
        check_version
    )
    .map(|r| SightRow {
        monitor: key,
        location: LocationKey(r.location_id),
        address: r.address,
        fingerprint: r.fingerprint,
        check_version,
        since: r.since_at.to_jiff(),
        last: r.last_at.to_jiff(),
        not_after: r.not_after.to_jiff(),
        valid: r.valid,
        problem: r.problem,
        facts: r.facts,
    })
    .fetch_all(conn)
    .await
}

/// Forgets what was shown last before `before`.
pub async fn forget_sights(
    conn: &mut PgConnection,
    key: MonitorKey,
    before: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from certificate_sight where monitor_id = $1 and last_at < $2",
        key.0,
        before.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Alarms of a monitor by fingerprint, each with its last incident.
pub async fn alarms(
    conn: &mut PgConnection,
    key: MonitorKey,
) -> sqlx::Result<BTreeMap<String, (Alarm, Uuid)>> {
    let rows = sqlx::query!(
        r#"select a.fingerprint, a.days, a.not_after, a.in_part, a.incident_id,
                  coalesce(i.resolved_at is null and i.incident_id is not null, false) as "open!"
           from certificate_alarm a left join incident i using (monitor_id, incident_id) where a.monitor_id = $1"#,
        key.0
    )
    .fetch_all(conn)
    .await?;
    let one = |days| u16::try_from(days).unwrap_or(u16::MAX);
    Ok(rows
        .into_iter()
        .map(|r| {
            let not_after = r.not_after.to_jiff();
            let alarm = Alarm { days: one(r.days), not_after, in_part: r.in_part, open: r.open };
            (r.fingerprint, (alarm, r.incident_id))
        })
        .collect())
}

/// Writes an alarm, over the one there was.
pub async fn put_alarm(
    conn: &mut PgConnection,
    key: MonitorKey,
    fingerprint: &str,
    alarm: &Alarm,
    incident: Uuid,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into certificate_alarm (monitor_id, fingerprint, days, not_after, in_part, incident_id, told_at)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (monitor_id, fingerprint) do update
         set days = excluded.days, not_after = excluded.not_after, in_part = excluded.in_part,
             incident_id = excluded.incident_id, told_at = excluded.told_at",
        key.0,
        fingerprint,
        i32::from(alarm.days),
        alarm.not_after.to_sqlx(),
        alarm.in_part,
        incident,
        now.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What was told is told again when it is reached again.
pub async fn drop_alarms(conn: &mut PgConnection, key: MonitorKey) -> sqlx::Result<()> {
    sqlx::query!("delete from certificate_alarm where monitor_id = $1", key.0)
        .execute(conn)
        .await?;
    Ok(())
}

/// Keeps what a look found, and when the next one is.
pub async fn looked(
    conn: &mut PgConnection,
    key: MonitorKey,
    check_version: i32,
    kept: &Kept,
    habit: &Habit,
    next: Option<Timestamp>,
) -> sqlx::Result<()> {
    let issuers: Vec<String> = kept.issuers.iter().cloned().collect();
    let (fingerprint, not_after) = habit.current.clone().unzip();
    sqlx::query!(
        "update certificate_watch
         set check_version = $2, issuers = $3, differ_since = $4, look_at = $5, fingerprint = $6, not_after = $7,
             renewed_days = $8
         where monitor_id = $1",
        key.0,
        check_version,
        &issuers,
        kept.differ_since.map(|t| t.to_sqlx()) as _,
        next.map(|t| t.to_sqlx()) as _,
        fingerprint,
        not_after.map(|t| t.to_sqlx()) as _,
        habit.renewed_days,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Lets monitors be looked at no later than at `at`: these, or all.
pub async fn look_soon(
    conn: &mut PgConnection,
    monitors: Option<&[i32]>,
    at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update certificate_watch set look_at = $2
         where ($1::int4[] is null or monitor_id = any($1)) and (look_at is null or look_at > $2)",
        monitors as _,
        at.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets everything about a monitor's certificates.
pub async fn forget(conn: &mut PgConnection, key: MonitorKey) -> sqlx::Result<()> {
    sqlx::query!("delete from certificate_sight where monitor_id = $1", key.0)
        .execute(&mut *conn)
        .await?;
    sqlx::query!("delete from certificate_watch where monitor_id = $1", key.0)
        .execute(&mut *conn)
        .await?;
    drop_alarms(conn, key).await
}

/// Forgets what was told of certificates that ended before `before` and are not an open incident's.
pub async fn forget_alarms(conn: &mut PgConnection, before: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from certificate_alarm a where a.not_after < $1 and not exists (
             select from incident i
             where i.monitor_id = a.monitor_id and i.incident_id = a.incident_id and i.resolved_at is null)",
        before.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Says in a few words what an incident is about.
pub async fn set_title(
    conn: &mut PgConnection,
    key: MonitorKey,
    incident: Uuid,
    title: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update incident set title = $3 where monitor_id = $1 and incident_id = $2",
        key.0,
        incident,
        title
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The certificate that an incident is about, as it was told; none for any other incident.
pub async fn of_incident(
    conn: &mut PgConnection,
    key: MonitorKey,
    incident: Uuid,
) -> sqlx::Result<Option<serde_json::Value>> {
    let found = sqlx::query_scalar!(
        r#"select evidence -> 'certificate' as "certificate" from incident
           where monitor_id = $1 and incident_id = $2 and starts_with(subject, 'certificate:')"#,
        key.0,
        incident
    )
    .fetch_optional(conn)
    .await?;
    Ok(found.flatten())
}
