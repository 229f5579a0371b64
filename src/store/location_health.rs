//! Health of locations: what is remembered between looks, quarantines, trust by hand, and on which monitors
//! a location disagrees.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use super::slo_inputs::instant;
use crate::domain::{
    Millis,
    ids::{LocationKey, MonitorKey},
    location::health::{Doubt, Health, Past, Trust},
};

/// A location with what is remembered of it and what its agents say.
#[derive(Debug, Clone)]
pub struct HealthRow {
    pub location: LocationKey,
    pub uid: Uuid,
    pub name: String,
    pub enabled: bool,
    pub online: bool,
    /// Of its online agents that sent any.
    pub selfchecks: Vec<serde_json::Value>,
    pub trust: Option<Trust>,
    pub health: Health,
    /// Null: nothing was ever against it.
    pub evidence: serde_json::Value,
    pub review_at: Option<Timestamp>,
    /// How it stood at the look before.
    pub standing: String,
}

/// All locations that are not deleted, by key. Until the end of leniency nobody is offline who was ever
/// heard.
pub async fn rows(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<Vec<HealthRow>> {
    let millis = |at: Option<jiff_sqlx::Timestamp>| at.map(|at| at.to_jiff().as_millisecond());
    sqlx::query!(
        r#"select l.location_id, l.uid, l.name, l.enabled,
                  coalesce(a.online, false) as "online!", coalesce(a.checks, '[]') as "checks!", t.kind as "trust?",
                  h.doubt_since as "doubt_since?: jiff_sqlx::Timestamp", h.doubt_bad_at as "doubt_bad_at?: jiff_sqlx::Timestamp",
                  h.doubt_round_at as "doubt_round_at?: jiff_sqlx::Timestamp", coalesce(h.doubt_clean, 0) as "doubt_clean!",
                  coalesce(h.doubt_hold_s, 0) as "doubt_hold_s!", h.quarantined_since as "quarantined_since?: jiff_sqlx::Timestamp",
                  h.last_ended_at as "last_ended_at?: jiff_sqlx::Timestamp", coalesce(h.last_hold_s, 0) as "last_hold_s!",
                  coalesce(h.evidence, '{}') as "evidence!", h.review_at as "review_at?: jiff_sqlx::Timestamp",
                  coalesce(h.standing, 'counted') as "standing!"
           from location l
           left join location_health h using (location_id)
           left join location_trust t on t.location_id = l.location_id and t.ended_at is null and t.until_at > $1
           left join lateral (
               select count(*) > 0 as online, jsonb_agg(a.selfcheck) filter (where a.selfcheck is not null) as checks
               from agent a where a.location_id = l.location_id and a.revoked_at is null
                 and (a.last_seen_at > $1::timestamptz - interval '30 seconds'
                      or a.last_seen_at is not null and (select grace_until from sweep) > $1)
           ) as a on true
           where l.deleted_at is null order by l.location_id"#,
        now.to_sqlx()
    )
    .map(|r| HealthRow {
        location: LocationKey(r.location_id),
        uid: r.uid,
        name: r.name,
        enabled: r.enabled,
        online: r.online,
        selfchecks: match r.checks {
            serde_json::Value::Array(checks) => checks,
            _ => Vec::new(),
        },
        trust: r.trust.as_deref().and_then(Trust::from_name),
        health: Health {
            doubt: millis(r.doubt_since).map(|since| Doubt {
                since,
                hold: Millis::from(r.doubt_hold_s) * 1_000,
                bad_at: millis(r.doubt_bad_at).unwrap_or(since),
                clean: u32::try_from(r.doubt_clean).unwrap_or_default(),
                round_at: millis(r.doubt_round_at).unwrap_or(since),
            }),
            quarantined_since: millis(r.quarantined_since),
            past: millis(r.last_ended_at)
                .map(|ended| Past { ended, hold: Millis::from(r.last_hold_s) * 1_000 }),
        },
        evidence: r.evidence,
        review_at: r.review_at.map(|at| at.to_jiff()),
        standing: r.standing,
    })
    .fetch_all(conn)
    .await
}

/// What a look found of a location. `evidence` none keeps what was found before.
#[derive(Debug, Clone)]
pub struct HealthSave {
    pub location: LocationKey,
    pub health: Health,
    pub evidence: Option<serde_json::Value>,
    /// How it stands now; if that is new, its monitors that are not up have to be decided anew.
    pub standing: &'static str,
    pub wake: bool,
}

pub async fn save(conn: &mut PgConnection, row: &HealthSave, now: Timestamp) -> sqlx::Result<()> {
    let at = |millis: Option<Millis>| millis.map(|millis| instant(millis).to_sqlx());
    let seconds = |millis: Millis| i32::try_from(millis / 1_000).unwrap_or(i32::MAX);
    let (doubt, past) = (row.health.doubt, row.health.past);
    sqlx::query!(
        "insert into location_health (location_id, looked_at, doubt_since, doubt_bad_at, doubt_round_at, doubt_clean,
             doubt_hold_s, quarantined_since, last_ended_at, last_hold_s, evidence, wake_after, standing)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, coalesce($11, '{}'::jsonb), case when $12::bool then 0 end, $13)
         on conflict (location_id) do update set looked_at = $2, doubt_since = $3, doubt_bad_at = $4, doubt_round_at = $5,
             doubt_clean = $6, doubt_hold_s = $7, quarantined_since = $8, last_ended_at = $9, last_hold_s = $10,
             evidence = coalesce($11, location_health.evidence), standing = $13,
             wake_after = case when $12 then 0 else location_health.wake_after end",
        row.location.0,
        now.to_sqlx(),
        at(doubt.map(|d| d.since)) as _,
        at(doubt.map(|d| d.bad_at)) as _,
        at(doubt.map(|d| d.round_at)) as _,
        doubt.map_or(0, |d| i32::try_from(d.clean).unwrap_or(i32::MAX)),
        doubt.map_or(0, |d| seconds(d.hold)),
        at(row.health.quarantined_since) as _,
        at(past.map(|p| p.ended)) as _,
        past.map_or(0, |p| seconds(p.hold)),
        row.evidence as _,
        row.wake,
        row.standing,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A stretch in quarantine begins; results from `from` on are withheld.
pub async fn begin_quarantine(
    conn: &mut PgConnection,
    location: LocationKey,
    since: Timestamp,
    from: Timestamp,
    reason: &str,
    evidence: &serde_json::Value,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into location_quarantine (location_id, since_at, from_at, reason, evidence) values ($1, $2, $3, $4, $5)",
        location.0,
        since.to_sqlx(),
        from.to_sqlx(),
        reason,
        evidence
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn end_quarantine(
    conn: &mut PgConnection,
    location: LocationKey,
    to: Timestamp,
    released: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update location_quarantine set to_at = greatest($2, since_at), released = $3 where location_id = $1 and to_at is null",
        location.0,
        to.to_sqlx(),
        released
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Locations of which results within [from, to) are withheld.
pub async fn quarantined(
    conn: &mut PgConnection,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<LocationKey>> {
    sqlx::query!(
        "select distinct location_id from location_quarantine where from_at < $2 and (to_at is null or to_at > $1)",
        from.to_sqlx(),
        to.to_sqlx()
    )
    .map(|r| LocationKey(r.location_id))
    .fetch_all(conn)
    .await
}

/// Fresh self-checks of locations are asked for, unless they were within the last half minute.
pub async fn review(
    conn: &mut PgConnection,
    locations: &[i16],
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into location_health (location_id, looked_at, review_at)
         select id, $2, $2 from unnest($1::int2[]) as l(id) order by id
         on conflict (location_id) do update set review_at = $2
         where location_health.review_at is null or location_health.review_at < $2::timestamptz - interval '30 seconds'",
        locations,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Since when fresh self-checks of a location are asked for, within the last half minute.
pub async fn review_of(
    conn: &mut PgConnection,
    location: LocationKey,
    now: Timestamp,
) -> sqlx::Result<Option<Timestamp>> {
    Ok(sqlx::query_scalar!(
        r#"select review_at as "at!" from location_health
           where location_id = $1 and review_at > $2::timestamptz - interval '30 seconds'"#,
        location.0,
        now.to_sqlx()
    )
    .fetch_optional(conn)
    .await?
    .map(|at| at.to_jiff()))
}

/// Enabled monitors that are unknown: up to `limit` names in order, and how many there are; and how many are
/// enabled in all, which is counted only if any is.
pub async fn blind(
    conn: &mut PgConnection,
    unknown: i16,
    limit: i64,
) -> sqlx::Result<(Vec<String>, i64, i64)> {
    let row = sqlx::query!(
        r#"with blind as (
               select m.name from monitor_live v join monitor m using (monitor_id)
               where v.state = 5 and v.state = $1 and m.enabled and m.deleted_at is null
           )
           select array(select name from blind order by name limit $2) as "names!",
                  (select count(*) from blind) as "blind!",
                  (select case when exists (select from blind) then
                      (select count(*) from monitor where enabled and deleted_at is null) else 0 end) as "watched!""#,
        unknown,
        limit
    )
    .fetch_one(conn)
    .await?;
    Ok((row.names, row.blind, row.watched))
}

/// More locations are in doubt than may be set aside: (online, of those in doubt), or none any more. True
/// when that began or ended with this.
pub async fn set_over_cap(
    conn: &mut PgConnection,
    over: Option<(usize, usize)>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    match over {
        Some((online, doubted)) => sqlx::query_scalar!(
            r#"insert into location_cap (over_since, doubted, online) values ($1, $2, $3)
               on conflict (one) do update set doubted = $2, online = $3 returning xmax = 0 as "new!""#,
            now.to_sqlx(),
            count(doubted),
            count(online)
        )
        .fetch_one(conn)
        .await,
        None => Ok(sqlx::query!("delete from location_cap").execute(conn).await?.rows_affected() > 0),
    }
}

/// Since when more locations are in doubt than may be set aside, how many, and how many are online.
#[derive(Debug, Clone, Copy)]
pub struct OverCap {
    pub since: Timestamp,
    pub doubted: i32,
    pub online: i32,
}

pub async fn over_cap(conn: &mut PgConnection) -> sqlx::Result<Option<OverCap>> {
    sqlx::query!("select over_since, doubted, online from location_cap")
        .map(|r| OverCap { since: r.over_since.to_jiff(), doubted: r.doubted, online: r.online })
        .fetch_optional(conn)
        .await
}

/// On how many enabled monitors each location disagrees with the majority now; those without any are absent.
pub async fn dissents(conn: &mut PgConnection) -> sqlx::Result<Vec<(LocationKey, i64)>> {
    sqlx::query!(
        r#"select location_id, count(*) as "n!" from location_dissent group by location_id order by location_id"#
    )
    .map(|r| (LocationKey(r.location_id), r.n))
    .fetch_all(conn)
    .await
}

/// How many enabled monitors that a location looks at are up or degraded: what the majority sees up. This
/// reads all of them, so ask for locations alone that disagree on some.
pub async fn seen_up(
    conn: &mut PgConnection,
    location: LocationKey,
    states: &[i16],
) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select count(*) as "n!" from monitor_location l join monitor_live v using (monitor_id)
           where l.location_id = $1 and v.state = any($2)"#,
        location.0,
        states
    )
    .fetch_one(conn)
    .await
}

/// Writes who disagrees on monitors whose locks the caller holds: those and nobody else.
pub async fn set_dissents(
    conn: &mut PgConnection,
    monitors: &[i32],
    rows: &[(MonitorKey, LocationKey, Millis)],
) -> sqlx::Result<()> {
    if monitors.is_empty() {
        return Ok(());
    }
    sqlx::query!("delete from location_dissent where monitor_id = any($1)", monitors)
        .execute(&mut *conn)
        .await?;
    if rows.is_empty() {
        return Ok(());
    }
    let monitor: Vec<i32> = rows.iter().map(|r| r.0.0).collect();
    let location: Vec<i16> = rows.iter().map(|r| r.1.0).collect();
    let since: Vec<_> = rows.iter().map(|r| instant(r.2).to_sqlx()).collect();
    sqlx::query!(
        "insert into location_dissent (monitor_id, location_id, since_at)
         select * from unnest($1::int4[], $2::int2[], $3::timestamptz[])",
        &monitor,
        &location,
        &since as _,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Which locations are divergent on which of these monitors.
pub async fn divergent(
    conn: &mut PgConnection,
    monitors: &[i32],
) -> sqlx::Result<Vec<(MonitorKey, LocationKey)>> {
    sqlx::query!(
        "select monitor_id, location_id from location_divergent where monitor_id = any($1) and to_at is null",
        monitors
    )
    .map(|r| (MonitorKey(r.monitor_id), LocationKey(r.location_id)))
    .fetch_all(conn)
    .await
}

/// A location's vote is set aside on a monitor, whose lock the caller holds, because it has been alone.
pub async fn diverge(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    location: LocationKey,
    since: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into location_divergent (monitor_id, location_id, since_at) values ($1, $2, $3) on conflict do nothing",
        monitor.0,
        location.0,
        since.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Locations agree again on a monitor, whose lock the caller holds.
pub async fn converge(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    locations: &[i16],
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update location_divergent set to_at = greatest($3, since_at)
         where monitor_id = $1 and location_id = any($2) and to_at is null",
        monitor.0,
        locations,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Wakes the next `limit` monitors that a location of changed standing looks at and that are not up, under
/// their locks in id order; whoever calls it is alone in that. False when there are none left.
pub async fn wake_some(
    conn: &mut PgConnection,
    now: Timestamp,
    up: i16,
    limit: i64,
) -> sqlx::Result<bool> {
    let due = sqlx::query!(
        r#"select location_id, wake_after as "after!" from location_health where wake_after is not null
           order by location_id limit 1"#
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(due) = due else { return Ok(false) };
    let last = sqlx::query_scalar!(
        r#"with troubled as (
               select v.monitor_id from monitor_live v join monitor_location l using (monitor_id)
               where l.location_id = $1 and v.monitor_id > $2 and v.state <> $4
               order by v.monitor_id limit $5 for no key update of v
           ), woken as (
               update monitor_live m set wake_at = least(m.wake_at, $3) from troubled t where m.monitor_id = t.monitor_id
           )
           select max(monitor_id) from troubled"#,
        due.location_id,
        due.after,
        now.to_sqlx(),
        up,
        limit
    )
    .fetch_one(&mut *conn)
    .await?;
    // Not if its standing has changed once more since: then all begins anew.
    sqlx::query!(
        "update location_health set wake_after = $3 where location_id = $1 and wake_after = $2",
        due.location_id,
        due.after,
        last
    )
    .execute(conn)
    .await?;
    Ok(true)
}
