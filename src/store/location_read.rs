//! What pages show of the health of locations, and what is said of them by hand.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{ids::LocationKey, location::health::Trust};

/// At most so many monitors are named for a location.
pub const NAMED: i64 = 20;

/// A monitor on which a location disagrees with the majority.
#[derive(Debug, Clone)]
pub struct DissentRow {
    pub location: LocationKey,
    pub monitor: Uuid,
    pub name: String,
    pub since_at: Timestamp,
}

/// The first [`NAMED`] of each location, the longest disagreement first.
pub async fn dissents(conn: &mut PgConnection) -> sqlx::Result<Vec<DissentRow>> {
    sqlx::query!(
        r#"select l.location_id, m.uid, m.name, d.since_at as "since_at!: jiff_sqlx::Timestamp"
           from location l cross join lateral (
               select monitor_id, since_at from location_dissent where location_id = l.location_id
               order by since_at, monitor_id limit $1) as d join monitor m using (monitor_id)
           where l.deleted_at is null order by l.location_id, d.since_at, m.name"#,
        NAMED
    )
    .map(|r| DissentRow {
        location: LocationKey(r.location_id),
        monitor: r.uid,
        name: r.name,
        since_at: r.since_at.to_jiff(),
    })
    .fetch_all(conn)
    .await
}

/// The same of monitors on which a location's vote is set aside because it was alone for a day.
pub async fn divergences(conn: &mut PgConnection) -> sqlx::Result<Vec<DissentRow>> {
    sqlx::query!(
        r#"select l.location_id, m.uid, m.name, d.since_at as "since_at!: jiff_sqlx::Timestamp"
           from location l cross join lateral (
               select monitor_id, since_at from location_divergent
               where location_id = l.location_id and to_at is null order by since_at, monitor_id limit $1
           ) as d join monitor m using (monitor_id)
           where l.deleted_at is null and m.deleted_at is null order by l.location_id, d.since_at, m.name"#,
        NAMED
    )
    .map(|r| DissentRow {
        location: LocationKey(r.location_id),
        monitor: r.uid,
        name: r.name,
        since_at: r.since_at.to_jiff(),
    })
    .fetch_all(conn)
    .await
}

/// What the agents of locations that are online sent last of their references.
#[derive(Debug, Clone)]
pub struct SelfCheckRow {
    pub location: LocationKey,
    pub agent: Uuid,
    pub selfcheck: serde_json::Value,
}

pub async fn selfchecks(
    conn: &mut PgConnection,
    offline: Timestamp,
) -> sqlx::Result<Vec<SelfCheckRow>> {
    sqlx::query!(
        r#"select location_id, agent_id, selfcheck as "selfcheck!" from agent
           where revoked_at is null and selfcheck is not null and last_seen_at > $1 order by location_id, created_at, agent_id"#,
        offline.to_sqlx()
    )
    .map(|r| SelfCheckRow {
        location: LocationKey(r.location_id),
        agent: r.agent_id,
        selfcheck: r.selfcheck,
    })
    .fetch_all(conn)
    .await
}

/// A stretch in quarantine.
#[derive(Debug, Clone)]
pub struct QuarantineRow {
    pub since_at: Timestamp,
    pub from_at: Timestamp,
    pub to_at: Option<Timestamp>,
    pub reason: String,
    pub released: Option<String>,
}

/// Quarantines of a location that began before an instant, the latest first.
pub async fn quarantines(
    conn: &mut PgConnection,
    location: LocationKey,
    before: Option<Timestamp>,
    limit: i64,
) -> sqlx::Result<Vec<QuarantineRow>> {
    sqlx::query!(
        "select since_at, from_at, to_at, reason, released from location_quarantine
         where location_id = $1 and ($2::timestamptz is null or since_at < $2) order by since_at desc limit $3",
        location.0,
        before.map(|at| at.to_sqlx()) as _,
        limit
    )
    .map(|r| QuarantineRow {
        since_at: r.since_at.to_jiff(),
        from_at: r.from_at.to_jiff(),
        to_at: r.to_at.map(|at| at.to_jiff()),
        reason: r.reason,
        released: r.released,
    })
    .fetch_all(conn)
    .await
}

/// Somebody's word about a location.
#[derive(Debug, Clone)]
pub struct TrustRow {
    pub id: Uuid,
    pub location: LocationKey,
    pub kind: Trust,
    pub reason: String,
    pub set_by: String,
    pub from_at: Timestamp,
    pub until_at: Timestamp,
}

/// What holds now, by location.
pub async fn trusts(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<Vec<TrustRow>> {
    sqlx::query!(
        "select trust_id, location_id, kind, reason, set_by, from_at, until_at from location_trust
         where ended_at is null and until_at > $1 order by location_id",
        now.to_sqlx()
    )
    .map(|r| TrustRow {
        id: r.trust_id,
        location: LocationKey(r.location_id),
        kind: Trust::from_name(&r.kind).unwrap_or(Trust::Believe),
        reason: r.reason,
        set_by: r.set_by,
        from_at: r.from_at.to_jiff(),
        until_at: r.until_at.to_jiff(),
    })
    .fetch_all(conn)
    .await
}

/// Ends what is said of a location. False when nothing holds.
pub async fn end_trust(
    conn: &mut PgConnection,
    location: LocationKey,
    by: &str,
    now: Timestamp,
) -> sqlx::Result<bool> {
    // One whose time is over ends when it was to, for the record.
    let held = sqlx::query_scalar!(
        r#"update location_trust set ended_at = least(until_at, $3), ended_by = case when until_at > $3 then $2 end
           where location_id = $1 and ended_at is null returning until_at > $3 as "held!""#,
        location.0,
        by,
        now.to_sqlx()
    )
    .fetch_optional(conn)
    .await?;
    Ok(held == Some(true))
}

/// Says something of a location in place of what was said before, which the caller has ended.
pub async fn say_trust(conn: &mut PgConnection, row: &TrustRow) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into location_trust (trust_id, location_id, kind, reason, set_by, from_at, until_at)
         values ($1, $2, $3, $4, $5, $6, $7)",
        row.id,
        row.location.0,
        row.kind.name(),
        row.reason,
        row.set_by,
        row.from_at.to_sqlx(),
        row.until_at.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}
