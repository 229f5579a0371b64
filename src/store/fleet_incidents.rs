//! Incidents of fleets: under monitor 0, with the fleet's key and the group whose alert they share.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{
    ids::{FleetKey, MonitorKey},
    incident::Severity,
};

/// Incidents of fleets stand under this one.
pub const NO_MONITOR: MonitorKey = MonitorKey(0);

/// An incident as the alert of its group needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub incident: Uuid,
    pub group: Uuid,
    pub subject: String,
    pub severity: Severity,
    pub started_at: Timestamp,
    pub opened_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub resolved_at: Option<Timestamp>,
    pub resolve_reason: Option<String>,
    pub suppressed: bool,
    pub sentence: String,
}

impl Member {
    /// Whether somebody is to hear of it now.
    pub fn is_loud(&self) -> bool {
        self.resolved_at.is_none() && !self.suppressed
    }
}

/// Puts a new incident under a fleet and its group.
pub async fn adopt(
    conn: &mut PgConnection,
    incident: Uuid,
    fleet: FleetKey,
    group: Uuid,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update incident set fleet_id = $2, group_id = $3 where monitor_id = 0 and incident_id = $1",
        incident,
        fleet.0,
        group
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// All incidents of the groups that have an open one, or that one of `also` belongs to; locked, the
/// oldest first.
pub async fn members(
    conn: &mut PgConnection,
    fleet: FleetKey,
    also: &[Uuid],
) -> sqlx::Result<Vec<Member>> {
    sqlx::query!(
        r#"select incident_id, coalesce(group_id, incident_id) as "group_id!", subject, severity, started_at, opened_at,
                  ended_at, resolved_at, resolve_reason, suppressed, sentence
           from incident i
           where fleet_id = $1 and exists (
               select from incident o where o.fleet_id = $1 and o.group_id = i.group_id
                 and (o.resolved_at is null or o.incident_id = any($2)))
           order by opened_at, incident_id for no key update of i"#,
        fleet.0,
        also
    )
    .map(|r| Member {
        incident: r.incident_id,
        group: r.group_id,
        subject: r.subject,
        // The column's check holds exactly these words.
        severity: Severity::from_name(&r.severity).unwrap_or(Severity::Degraded),
        started_at: r.started_at.to_jiff(),
        opened_at: r.opened_at.to_jiff(),
        ended_at: r.ended_at.map(|t| t.to_jiff()),
        resolved_at: r.resolved_at.map(|t| t.to_jiff()),
        resolve_reason: r.resolve_reason,
        suppressed: r.suppressed,
        sentence: r.sentence,
    })
    .fetch_all(conn)
    .await
}

/// The group of an alert of this fleet that began at or after `since`.
pub async fn recent_group(
    conn: &mut PgConnection,
    fleet: FleetKey,
    since: Timestamp,
) -> sqlx::Result<Option<Uuid>> {
    let group = sqlx::query_scalar!(
        "select g.group_id from incident g where g.fleet_id = $1 and g.incident_id = g.group_id and g.opened_at >= $2
         order by g.opened_at desc limit 1",
        fleet.0,
        since.to_sqlx()
    )
    .fetch_optional(conn)
    .await?;
    Ok(group.flatten())
}

/// The last incident about this subject, if it is open or was resolved by itself at or after `since`:
/// its id and whether it is open.
pub async fn again(
    conn: &mut PgConnection,
    fleet: FleetKey,
    subject: &str,
    since: Timestamp,
) -> sqlx::Result<Option<(Uuid, bool)>> {
    sqlx::query!(
        r#"select incident_id, resolved_at is null as "open!" from incident
           where fleet_id = $1 and subject = $2
             and (resolved_at is null or (resolved_at >= $3 and resolve_reason = 'recovered'))
           order by opened_at desc limit 1"#,
        fleet.0,
        subject,
        since.to_sqlx()
    )
    .map(|r| (r.incident_id, r.open))
    .fetch_optional(conn)
    .await
}

/// Whether open findings other than this one stand behind an incident.
pub async fn others_behind(
    conn: &mut PgConnection,
    fleet: FleetKey,
    incident: Uuid,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from fleet_finding where fleet_id = $1 and incident_id = $2 and to_at is null) as "any!""#,
        fleet.0,
        incident
    )
    .fetch_one(conn)
    .await
}

/// Open incidents that were kept silent by maintenance are told from now on.
pub async fn unsuppress(conn: &mut PgConnection, fleet: FleetKey) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar!(
        "update incident set suppressed = false where fleet_id = $1 and suppressed and resolved_at is null
         returning incident_id",
        fleet.0
    )
    .fetch_all(conn)
    .await
}

/// Whether open incidents of a fleet are kept silent by maintenance.
pub async fn is_muted(conn: &mut PgConnection, fleet: FleetKey) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from incident where fleet_id = $1 and suppressed and resolved_at is null) as "muted!""#,
        fleet.0
    )
    .fetch_one(conn)
    .await
}

/// Whether a window that covers everything keeps alerts silent now.
pub async fn is_quiet(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from maintenance where monitors is null and suppress_alerts
                          and start_at <= $1 and end_at > $1) as "quiet!""#,
        now.to_sqlx()
    )
    .fetch_one(conn)
    .await
}

/// Rewrites what was queued for a group and not tried yet, so that its first message tells all of it.
pub async fn rewrite_unsent(
    conn: &mut PgConnection,
    group: Uuid,
    fleet: &serde_json::Value,
    sentence: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update notice set payload = payload || jsonb_build_object('fleet', $2::jsonb, 'sentence', $3::text)
         where monitor_id = 0 and incident_id = $1 and attempts = 0 and settled_at is null
           and kind in ('opened', 'reopened', 'moved', 'after_maintenance')",
        group,
        fleet,
        sentence
    )
    .execute(conn)
    .await?;
    Ok(())
}
