//! Incidents as triage writes them. Reading them for pages is `store::incidents_read`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::ids::MonitorKey;

#[derive(Debug, Clone)]
pub struct NewIncident {
    pub incident: Uuid,
    pub monitor: MonitorKey,
    pub subject: String,
    pub severity: &'static str,
    pub started_at: Timestamp,
    pub opened_at: Timestamp,
    pub low: bool,
    pub suppressed: bool,
    pub sentence: String,
    pub evidence: serde_json::Value,
}

pub async fn open(conn: &mut PgConnection, new: &NewIncident) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into incident
             (monitor_id, incident_id, subject, severity, peak, started_at, opened_at, low, suppressed, sentence, evidence)
         values ($1, $2, $3, $4, $4, $5, $6, $7, $8, $9, $10)",
        new.monitor.0,
        new.incident,
        new.subject,
        new.severity,
        new.started_at.to_sqlx(),
        new.opened_at.to_sqlx(),
        new.low,
        new.suppressed,
        new.sentence,
        new.evidence,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// An incident that goes on after all keeps its id and its beginning.
pub async fn reopen(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
    severity: &str,
    suppressed: bool,
    sentence: &str,
    evidence: &serde_json::Value,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update incident set resolved_at = null, ended_at = null, resolve_reason = null, severity = $3,
             peak = case when $3 = 'down' or peak = 'degraded' then $3 else peak end,
             suppressed = $4, sentence = $5, evidence = $6, acked_at = null, acked_by = null, acked_until = null
         where monitor_id = $1 and incident_id = $2",
        monitor.0,
        incident,
        severity,
        suppressed,
        sentence,
        evidence,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A change of severity. A rise takes an acknowledgement back.
pub async fn shift(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
    severity: &str,
    rise: bool,
    sentence: &str,
    evidence: &serde_json::Value,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update incident set severity = $3, peak = case when $4 then $3 else peak end, sentence = $5, evidence = $6,
             acked_at = case when $4 then null else acked_at end, acked_by = case when $4 then null else acked_by end,
             acked_until = case when $4 then null else acked_until end
         where monitor_id = $1 and incident_id = $2",
        monitor.0,
        incident,
        severity,
        rise,
        sentence,
        evidence,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn resolve(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
    ended_at: Timestamp,
    resolved_at: Timestamp,
    reason: Option<&str>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update incident set ended_at = greatest($3, started_at), resolved_at = $4, resolve_reason = $5,
             flapping = false, evidence_stale = false
         where monitor_id = $1 and incident_id = $2",
        monitor.0,
        incident,
        ended_at.to_sqlx(),
        resolved_at.to_sqlx(),
        reason,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The marks that an open incident carries beside its severity.
pub async fn mark(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
    flapping: bool,
    evidence_stale: bool,
    low: bool,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update incident set flapping = $3, evidence_stale = $4, low = $5 where monitor_id = $1 and incident_id = $2",
        monitor.0,
        incident,
        flapping,
        evidence_stale,
        low
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A suppressed incident that outlasted its maintenance is told now, as opened now.
pub async fn announce(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
    started_at: Timestamp,
    opened_at: Timestamp,
    sentence: &str,
    evidence: &serde_json::Value,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update incident set suppressed = false, started_at = $3, opened_at = $4, sentence = $5, evidence = $6
         where monitor_id = $1 and incident_id = $2",
        monitor.0,
        incident,
        started_at.to_sqlx(),
        opened_at.to_sqlx(),
        sentence,
        evidence,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Appends to the incident's own timeline.
#[expect(clippy::too_many_arguments, reason = "one per column")]
pub async fn add_event(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
    at: Timestamp,
    kind: &str,
    actor: Option<&str>,
    sentence: &str,
    data: &serde_json::Value,
) -> sqlx::Result<()> {
    sqlx::query!(
        "with n as (
             update incident set event_count = event_count + 1
             where monitor_id = $1 and incident_id = $2 returning event_count
         )
         insert into incident_event (monitor_id, incident_id, event_no, at, kind, actor, sentence, data)
         select $1, $2, n.event_count, $3, $4, $5, $6, $7 from n",
        monitor.0,
        incident,
        at.to_sqlx(),
        kind,
        actor,
        sentence,
        data,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// An incident's facts that notices repeat.
#[derive(Debug, Clone)]
pub struct IncidentRow {
    pub incident: Uuid,
    pub subject: String,
    pub severity: String,
    pub started_at: Timestamp,
    pub opened_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub resolved_at: Option<Timestamp>,
    pub resolve_reason: Option<String>,
    pub low: bool,
    pub suppressed: bool,
    pub sentence: String,
}

pub async fn get(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
) -> sqlx::Result<Option<IncidentRow>> {
    sqlx::query!(
        "select subject, severity, started_at, opened_at, ended_at, resolved_at, resolve_reason, low, suppressed, sentence
         from incident where monitor_id = $1 and incident_id = $2",
        monitor.0,
        incident
    )
    .map(|r| IncidentRow {
        incident,
        subject: r.subject,
        severity: r.severity,
        started_at: r.started_at.to_jiff(),
        opened_at: r.opened_at.to_jiff(),
        ended_at: r.ended_at.map(|t| t.to_jiff()),
        resolved_at: r.resolved_at.map(|t| t.to_jiff()),
        resolve_reason: r.resolve_reason,
        low: r.low,
        suppressed: r.suppressed,
        sentence: r.sentence,
    })
    .fetch_optional(conn)
    .await
}

/// Whether nothing is said of it as time passes: it comes and goes, it is told with another that went down
/// before it and is not over, or a parent of its monitor is down.
pub async fn is_held(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
) -> sqlx::Result<bool> {
    let held = sqlx::query_scalar!(
        r#"select i.flapping
                  or exists (select from storm_member s join storm_member f on f.group_id = s.group_id
                             where s.incident_id = i.incident_id and f.over_at is null
                               and (f.down_at, f.member_no) < (s.down_at, s.member_no))
                  or exists (select from notice n where n.monitor_id = $1 and n.incident_id = $2
                             and n.held_for is not null and n.settled_at is null) as "held!"
           from incident i where i.monitor_id = $1 and i.incident_id = $2"#,
        monitor.0,
        incident
    )
    .fetch_optional(conn)
    .await?;
    Ok(held.unwrap_or(false))
}

/// Takes one incident's lock, after that of whom it is about.
pub async fn lock(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
) -> sqlx::Result<()> {
    sqlx::query!(
        "select from incident where monitor_id = $1 and incident_id = $2 for no key update",
        monitor.0,
        incident
    )
    .fetch_optional(conn)
    .await?;
    Ok(())
}

/// Open incidents, locked in id order after their monitors.
pub async fn lock_open(conn: &mut PgConnection, monitors: &[i32]) -> sqlx::Result<()> {
    sqlx::query!(
        "select incident_id from incident where monitor_id = any($1) and resolved_at is null
         order by monitor_id, incident_id for no key update",
        monitors
    )
    .fetch_all(conn)
    .await?;
    Ok(())
}
