//! State intervals: the one truth that incidents, availability and the status page read.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::ids::MonitorKey;

/// The beginning of a new interval; the present one ends where it begins.
#[derive(Debug, Clone)]
pub struct NewInterval {
    pub monitor: MonitorKey,
    /// Back-dated beginning.
    pub from_at: Timestamp,
    pub state: i16,
    pub evidence_stale: bool,
    pub low: bool,
    pub incident: Option<Uuid>,
}

/// An interval as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    pub from_at: Timestamp,
    pub to_at: Option<Timestamp>,
    pub state: i16,
    pub evidence_stale: bool,
    pub low: bool,
    pub found_late: bool,
    pub incident: Option<Uuid>,
}

/// Begins an interval. Whatever began later is replaced (a back-dated beginning may reach behind short
/// pieces), and what was open ends there.
pub async fn begin(conn: &mut PgConnection, new: &NewInterval) -> sqlx::Result<()> {
    let at = new.from_at.to_sqlx();
    sqlx::query!(
        "delete from monitor_state where monitor_id = $1 and from_at >= $2",
        new.monitor.0,
        at
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "update monitor_state set to_at = $2
         where monitor_id = $1 and (to_at is null or to_at > $2)",
        new.monitor.0,
        at
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "insert into monitor_state (monitor_id, from_at, state, evidence_stale, low, incident_id)
         values ($1, $2, $3, $4, $5, $6)",
        new.monitor.0,
        at,
        new.state,
        new.evidence_stale,
        new.low,
        new.incident,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The instant before which a back-dated beginning may rewrite nothing: the beginning of the present
/// interval (what it replaces then is that interval's tail, or all of it).
pub async fn floor(
    conn: &mut PgConnection,
    monitor: MonitorKey,
) -> sqlx::Result<Option<Timestamp>> {
    let at = sqlx::query_scalar!(
        "select from_at from monitor_state where monitor_id = $1 and to_at is null",
        monitor.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(at.map(|t| t.to_jiff()))
}

/// Intervals that touch [from, to), oldest first, uncut.
pub async fn between(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<Interval>> {
    sqlx::query!(
        "select from_at, to_at, state, evidence_stale, low, found_late, incident_id
         from monitor_state
         where monitor_id = $1 and from_at < $3 and (to_at is null or to_at > $2)
         order by from_at",
        monitor.0,
        from.to_sqlx(),
        to.to_sqlx(),
    )
    .map(|r| Interval {
        from_at: r.from_at.to_jiff(),
        to_at: r.to_at.map(|t| t.to_jiff()),
        state: r.state,
        evidence_stale: r.evidence_stale,
        low: r.low,
        found_late: r.found_late,
        incident: r.incident_id,
    })
    .fetch_all(conn)
    .await
}

/// Writes a closed piece into the past: what was stored there is cut around it.
pub async fn splice(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    piece: &Interval,
    to: Timestamp,
) -> sqlx::Result<()> {
    let (from_at, to_at) = (piece.from_at.to_sqlx(), to.to_sqlx());
    let beyond = sqlx::query!(
        r#"select to_at, state, evidence_stale, low, found_late, incident_id from monitor_state
           where monitor_id = $1 and from_at < $2 and (to_at is null or to_at > $2)"#,
        monitor.0,
        to_at
    )
    .fetch_optional(&mut *conn)
    .await?;
    sqlx::query!(
        "delete from monitor_state where monitor_id = $1 and from_at >= $2 and from_at < $3",
        monitor.0,
        from_at,
        to_at
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "update monitor_state set to_at = $2
         where monitor_id = $1 and from_at < $2 and (to_at is null or to_at > $2)",
        monitor.0,
        from_at
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "insert into monitor_state (monitor_id, from_at, to_at, state, evidence_stale, low, found_late, incident_id)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        monitor.0,
        from_at,
        to_at,
        piece.state,
        piece.evidence_stale,
        piece.low,
        piece.found_late,
        piece.incident,
    )
    .execute(&mut *conn)
    .await?;
    // What reached beyond the end goes on after it.
    if let Some(rest) = beyond {
        sqlx::query!(
            "insert into monitor_state (monitor_id, from_at, to_at, state, evidence_stale, low, found_late, incident_id)
             values ($1, $2, $3, $4, $5, $6, $7, $8)",
            monitor.0,
            to_at,
            rest.to_at as _,
            rest.state,
            rest.evidence_stale,
            rest.low,
            rest.found_late,
            rest.incident_id,
        )
        .execute(conn)
        .await?;
    }
    Ok(())
}

/// Keeps a live row as the place where a refold can start.
pub async fn add_checkpoint(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    at: Timestamp,
    live: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into monitor_checkpoint (monitor_id, at, live) values ($1, $2, $3) on conflict do nothing",
        monitor.0,
        at.to_sqlx(),
        live
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Keeps every live row (no coordinator has swept since `at`).
pub async fn checkpoint_all(conn: &mut PgConnection, at: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into monitor_checkpoint (monitor_id, at, live)
         select v.monitor_id, $1, v.live from monitor_live v join monitor m using (monitor_id)
         where m.enabled and m.deleted_at is null
         on conflict do nothing",
        at.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The latest checkpoint at or before an instant.
pub async fn checkpoint(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    at: Timestamp,
) -> sqlx::Result<Option<(Timestamp, String)>> {
    sqlx::query!(
        "select at, live from monitor_checkpoint where monitor_id = $1 and at <= $2 order by at desc limit 1",
        monitor.0,
        at.to_sqlx()
    )
    .map(|r| (r.at.to_jiff(), r.live))
    .fetch_optional(conn)
    .await
}

/// Counts a change of the past.
pub async fn bump_revision(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into monitor_revision (monitor_id, data_revision, changed_at) values ($1, 1, $2)
         on conflict (monitor_id) do update
         set data_revision = monitor_revision.data_revision + 1, changed_at = excluded.changed_at",
        monitor.0,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The same for several monitors; none: for all there are.
pub async fn bump_revisions(
    conn: &mut PgConnection,
    monitors: Option<&[i32]>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into monitor_revision (monitor_id, data_revision, changed_at)
         select monitor_id, 1, $2 from monitor where $1::int4[] is null or monitor_id = any($1) order by monitor_id
         on conflict (monitor_id) do update
         set data_revision = monitor_revision.data_revision + 1, changed_at = excluded.changed_at",
        monitors as _,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A decision at which a vote changed.
#[derive(Debug, Clone)]
pub struct NewDecision {
    pub monitor: MonitorKey,
    pub at: Timestamp,
    pub rule: &'static str,
    pub state: i16,
    pub changed: bool,
    pub sentence: String,
    pub inputs: serde_json::Value,
}

pub async fn insert_decision(conn: &mut PgConnection, d: &NewDecision) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into decision (monitor_id, at, rule, state, changed, sentence, inputs)
         values ($1, $2, $3, $4, $5, $6, $7)",
        d.monitor.0,
        d.at.to_sqlx(),
        d.rule,
        d.state,
        d.changed,
        d.sentence,
        d.inputs
    )
    .execute(conn)
    .await?;
    Ok(())
}
