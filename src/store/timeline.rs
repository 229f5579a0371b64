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
    /// The live row at this moment, for unknown and stale stretches only.
    pub checkpoint: Option<String>,
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
    pub checkpoint: Option<String>,
}

/// Begins an interval. Whatever began later is replaced (a back-dated beginning may reach behind short
/// pieces), and what was open ends there.
pub async fn begin(conn: &mut PgConnection, new: &NewInterval) -> sqlx::Result<()> {
    let at = new.from_at.to_sqlx();
    sqlx::query!("delete from monitor_state where monitor_id = $1 and from_at >= $2", new.monitor.0, at)
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
        "insert into monitor_state (monitor_id, from_at, state, evidence_stale, low, incident_id, checkpoint)
         values ($1, $2, $3, $4, $5, $6, $7)",
        new.monitor.0,
        at,
        new.state,
        new.evidence_stale,
        new.low,
        new.incident,
        new.checkpoint,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The latest instant before which nothing may be rewritten by a back-dated beginning: where the present
/// interval's predecessor ended, if that was a state that must stay (unknown, paused), or the monitor's
/// first interval.
pub async fn floor(conn: &mut PgConnection, monitor: MonitorKey, keep: &[i16]) -> sqlx::Result<Option<Timestamp>> {
    let at = sqlx::query_scalar!(
        r#"select coalesce(
               (select max(to_at) from monitor_state
                where monitor_id = $1 and to_at is not null and (state = any($2) or evidence_stale)),
               (select min(from_at) from monitor_state where monitor_id = $1)
           ) as "at: jiff_sqlx::Timestamp""#,
        monitor.0,
        keep,
    )
    .fetch_one(conn)
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
        "select from_at, to_at, state, evidence_stale, low, found_late, incident_id, checkpoint
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
        checkpoint: r.checkpoint,
    })
    .fetch_all(conn)
    .await
}

/// Replaces one closed interval by pieces that fill the same span.
pub async fn replace(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    from_at: Timestamp,
    pieces: &[Interval],
) -> sqlx::Result<()> {
    sqlx::query!("delete from monitor_state where monitor_id = $1 and from_at = $2", monitor.0, from_at.to_sqlx())
        .execute(&mut *conn)
        .await?;
    for piece in pieces {
        sqlx::query!(
            "insert into monitor_state
                 (monitor_id, from_at, to_at, state, evidence_stale, low, found_late, incident_id, checkpoint)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            monitor.0,
            piece.from_at.to_sqlx(),
            piece.to_at.map(|t| t.to_sqlx()) as _,
            piece.state,
            piece.evidence_stale,
            piece.low,
            piece.found_late,
            piece.incident,
            piece.checkpoint,
        )
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Counts a change of the past.
pub async fn bump_revision(conn: &mut PgConnection, monitor: MonitorKey, now: Timestamp) -> sqlx::Result<()> {
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
