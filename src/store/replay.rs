//! A stretch of a monitor's past, as a replay reads it.

use futures_util::TryStreamExt;
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::decision::replay::Told;
use crate::domain::decision::{Disposition, HistoryOnly};
use crate::domain::ids::{LocationKey, MonitorKey};
use crate::domain::observation::{Class, Outcome, RunKind};

/// How many results of a monitor began within [from, to); counting ends at `enough`.
async fn count(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    from: Timestamp,
    to: Timestamp,
    enough: i64,
) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select count(*) as "n!" from (
               select from report where monitor_id = $1 and effective_at >= $2 and effective_at < $3 limit $4) as r"#,
        monitor.0,
        from.to_sqlx(),
        to.to_sqlx(),
        enough
    )
    .fetch_one(conn)
    .await
}

/// Results of a monitor that began within [from, to), in order of arrival; none when there are more than `most`.
/// They are taken row by row as the database sends them, and kept small.
pub async fn reports(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    from: Timestamp,
    to: Timestamp,
    most: i64,
) -> sqlx::Result<Option<Vec<Told>>> {
    if count(conn, monitor, from, to, most.saturating_add(1)).await? > most {
        return Ok(None);
    }
    let mut rows = sqlx::query!(
        "select effective_at, late_ms, location_id, check_version, outcome, class, kind, total_us, status, disposition
         from report where monitor_id = $1 and effective_at >= $2 and effective_at < $3",
        monitor.0,
        from.to_sqlx(),
        to.to_sqlx(),
    )
    .fetch(conn);
    let mut all = Vec::new();
    while let Some(r) = rows.try_next().await? {
        let (Some(outcome), Some(kind)) =
            (Outcome::from_code(r.outcome), RunKind::from_code(r.kind))
        else {
            continue;
        };
        let at = r.effective_at.to_jiff().as_millisecond();
        let latency_ms = (r.total_us + 999) / 1000;
        let is = |reason| r.disposition == Disposition::History(reason).code();
        all.push(Told {
            at,
            received: at + i64::from(r.late_ms.unwrap_or(latency_ms)),
            latency_ms,
            check_version: u32::try_from(r.check_version).unwrap_or_default(),
            location: LocationKey(r.location_id),
            class: Class::from_code(r.class),
            status: r.status.and_then(|status| u16::try_from(status).ok()),
            outcome,
            kind,
            age_estimated: is(HistoryOnly::AgeEstimated),
            outdated: is(HistoryOnly::OldVersion),
            guessed: r.late_ms.is_none(),
        });
    }
    all.sort_by_key(|told| (told.received, told.location, told.at));
    Ok(Some(all))
}

/// A maintenance window that kept alerts of a monitor silent, or might have.
#[derive(Debug, Clone, Copy)]
pub struct WindowRow {
    pub start_at: Timestamp,
    pub end_at: Timestamp,
    pub suppress_alerts: bool,
    pub pause_probes: bool,
}

/// Windows that a monitor's decisions within [from, to) looked at, oldest first: planned ones that cover all
/// its locations.
pub async fn windows(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<WindowRow>> {
    sqlx::query!(
        "select start_at, end_at, suppress_alerts, pause_probes from maintenance
         where start_at < $3 and end_at > $2::timestamptz - interval '2 days' and locations is null and kind = 'planned'
           and (monitors is null or $1 = any(monitors))
         order by start_at",
        monitor.0,
        from.to_sqlx(),
        to.to_sqlx(),
    )
    .map(|r| WindowRow {
        start_at: r.start_at.to_jiff(),
        end_at: r.end_at.to_jiff(),
        suppress_alerts: r.suppress_alerts,
        pause_probes: r.pause_probes,
    })
    .fetch_all(conn)
    .await
}

/// A stretch in which a location's vote did not count as usual.
#[derive(Debug, Clone)]
pub struct WithheldRow {
    pub location: LocationKey,
    /// `believe distrust quarantined divergent`
    pub standing: String,
    pub from_at: Timestamp,
    pub to_at: Option<Timestamp>,
}

/// Stretches that touch [from, to), those by hand first.
pub async fn withheld(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<WithheldRow>> {
    sqlx::query!(
        r#"select location_id as "location_id!", standing as "standing!", from_at as "from_at!: jiff_sqlx::Timestamp",
                  to_at as "to_at?: jiff_sqlx::Timestamp"
           from (select 1 as place, location_id, kind as standing, from_at, least(until_at, ended_at) as to_at from location_trust
                 union all
                 select 2, location_id, 'quarantined', since_at, to_at from location_quarantine
                 union all
                 select 3, location_id, 'divergent', since_at, to_at from location_divergent where monitor_id = $1) as w
           where from_at < $3 and (to_at is null or to_at > $2)
           order by place, from_at, location_id"#,
        monitor.0,
        from.to_sqlx(),
        to.to_sqlx(),
    )
    .map(|r| WithheldRow {
        location: LocationKey(r.location_id),
        standing: r.standing,
        from_at: r.from_at.to_jiff(),
        to_at: r.to_at.map(|at| at.to_jiff()),
    })
    .fetch_all(conn)
    .await
}

/// An incident as it really went.
#[derive(Debug, Clone)]
pub struct IncidentRow {
    pub incident: Uuid,
    pub severity: String,
    pub peak: String,
    pub started_at: Timestamp,
    pub opened_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub resolved_at: Option<Timestamp>,
    pub low: bool,
    pub suppressed: bool,
    pub flapping: bool,
}

/// Incidents of a monitor that went on within [from, to), in order of opening.
pub async fn incidents(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<IncidentRow>> {
    sqlx::query!(
        "select incident_id, severity, peak, started_at, opened_at, ended_at, resolved_at, low, suppressed, flapping
         from incident
         where monitor_id = $1 and subject like 'monitor:%' and started_at < $3 and (ended_at is null or ended_at > $2)
         order by opened_at, incident_id",
        monitor.0,
        from.to_sqlx(),
        to.to_sqlx(),
    )
    .map(|r| IncidentRow {
        incident: r.incident_id,
        severity: r.severity,
        peak: r.peak,
        started_at: r.started_at.to_jiff(),
        opened_at: r.opened_at.to_jiff(),
        ended_at: r.ended_at.map(|t| t.to_jiff()),
        resolved_at: r.resolved_at.map(|t| t.to_jiff()),
        low: r.low,
        suppressed: r.suppressed,
        flapping: r.flapping,
    })
    .fetch_all(conn)
    .await
}

#[derive(Debug, Clone)]
pub struct EventRow {
    pub incident: Uuid,
    pub at: Timestamp,
    pub kind: String,
    pub sentence: String,
}

/// What happened to some incidents of a monitor by decision, not by people; in order.
pub async fn events(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incidents: &[Uuid],
) -> sqlx::Result<Vec<EventRow>> {
    sqlx::query!(
        "select incident_id, at, kind, sentence from incident_event
         where monitor_id = $1 and incident_id = any($2)
           and kind ~ '^(suppressed:)?(opened|reopened|escalated|downgraded|resolved|flap_start|evidence_withdrawn)'
         order by incident_id, event_no",
        monitor.0,
        incidents
    )
    .map(|r| EventRow {
        incident: r.incident_id,
        at: r.at.to_jiff(),
        kind: r.kind,
        sentence: r.sentence,
    })
    .fetch_all(conn)
    .await
}
