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
    /// What is wrong in a few words; none of one that is older than titles.
    pub title: Option<String>,
    pub sentence: String,
}

impl Member {
    /// Whether somebody is to hear of it now.
    pub fn is_loud(&self) -> bool {
        self.resolved_at.is_none() && !self.suppressed
    }
}

/// Puts a new incident under a fleet and its group, and gives it its title.
pub async fn adopt(
    conn: &mut PgConnection,
    incident: Uuid,
    fleet: FleetKey,
    group: Uuid,
    title: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update incident set fleet_id = $2, group_id = $3, title = $4 where monitor_id = 0 and incident_id = $1",
        incident,
        fleet.0,
        group,
        title
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What is wrong has changed: who is named, or how it is meant.
pub async fn set_title(conn: &mut PgConnection, incident: Uuid, title: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "update incident set title = $2 where monitor_id = 0 and incident_id = $1",
        incident,
        title
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Open incidents that share an alert, the one itself included, in the order of their opening.
pub async fn open_together(
    conn: &mut PgConnection,
    fleet: FleetKey,
    incident: Uuid,
) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar!(
        "select i.incident_id from incident i join incident o on o.fleet_id = i.fleet_id and o.group_id = i.group_id
         where i.fleet_id = $1 and o.incident_id = $2 and i.resolved_at is null
         order by i.opened_at, i.incident_id for no key update of i",
        fleet.0,
        incident
    )
    .fetch_all(conn)
    .await
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
                  ended_at, resolved_at, resolve_reason, suppressed, title, sentence
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
        title: r.title,
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

/// Open incidents that were kept silent by maintenance are told from now on, as opened now and begun no
/// earlier than the end of the last window: each with its sentence.
pub async fn unsuppress(
    conn: &mut PgConnection,
    fleet: FleetKey,
    now: Timestamp,
) -> sqlx::Result<Vec<(Uuid, String)>> {
    sqlx::query!(
        "update incident i
         set suppressed = false, opened_at = $2,
             started_at = greatest(i.started_at, (
                 select max(w.end_at) from maintenance w
                 where w.suppress_alerts and w.end_at <= $2
                   and ((w.monitors is null and w.fleets is null) or $1 = any(w.fleets))))
         where i.fleet_id = $1 and i.suppressed and i.resolved_at is null
         returning i.incident_id, i.sentence",
        fleet.0,
        now.to_sqlx()
    )
    .map(|r| (r.incident_id, r.sentence))
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

/// Whether maintenance keeps a fleet's alerts silent: a window that has begun, covers it, and did not end
/// before `since`.
pub async fn is_quiet(
    conn: &mut PgConnection,
    fleet: FleetKey,
    now: Timestamp,
    since: Timestamp,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from maintenance
                          where suppress_alerts and start_at <= $2 and end_at > $3
                            and ((monitors is null and fleets is null) or $1 = any(fleets))) as "quiet!""#,
        fleet.0,
        now.to_sqlx(),
        since.to_sqlx()
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
