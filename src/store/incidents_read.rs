//! Incidents as pages read them, and what people do to them. Writing them is `store::incidents`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::ids::{FleetKey, MonitorKey, SloKey};

#[derive(Debug, Clone)]
pub struct IncidentRow {
    pub monitor: MonitorKey,
    pub incident: Uuid,
    pub subject: String,
    pub severity: String,
    pub peak: String,
    pub started_at: Timestamp,
    pub opened_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub resolved_at: Option<Timestamp>,
    pub resolve_reason: Option<String>,
    pub low: bool,
    pub suppressed: bool,
    pub flapping: bool,
    pub evidence_stale: bool,
    pub acked_at: Option<Timestamp>,
    pub acked_by: Option<String>,
    pub acked_until: Option<Timestamp>,
    /// What is wrong in a few words; none of a monitor's.
    pub title: Option<String>,
    pub sentence: String,
    /// Only when one incident is asked for.
    pub evidence: Option<serde_json::Value>,
    pub about: Option<About>,
    /// The fleet that it is about.
    pub fleet: Option<AboutFleet>,
    /// The SLO that it is about.
    pub slo: Option<AboutSlo>,
    /// The first of those whose alert it shares; of a fleet.
    pub group: Option<Uuid>,
    /// The first of the monitors' incidents that it is told with, and what they share.
    pub storm: Option<(Uuid, String)>,
}

/// The fleet behind it, deleted or not.
#[derive(Debug, Clone)]
pub struct AboutFleet {
    pub key: FleetKey,
    pub uid: Uuid,
    pub name: String,
}

/// The SLO behind it, deleted or not.
#[derive(Debug, Clone)]
pub struct AboutSlo {
    pub key: SloKey,
    pub uid: Uuid,
    pub name: String,
}

/// The monitor behind it; none once it is deleted.
#[derive(Debug, Clone)]
pub struct About {
    pub uid: Uuid,
    pub name: String,
    pub group: String,
    pub check_spec: serde_json::Value,
    pub runbook_url: Option<String>,
    /// Id of the fleet that the monitor names.
    pub fleet: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub incident: Option<Uuid>,
    /// True: open ones only; false: resolved ones only.
    pub open: Option<bool>,
    pub monitor: Option<i32>,
    pub fleet: Option<FleetKey>,
    pub slo: Option<SloKey>,
    /// What its subject begins with: `monitor fleet slo certificate platform`.
    pub kind: Option<&'static str>,
    pub subject: Option<String>,
    /// Told with this one.
    pub storm: Option<Uuid>,
    /// Opened at or after.
    pub from: Option<Timestamp>,
    /// Opened before.
    pub to: Option<Timestamp>,
    /// Going on at some time within this span.
    pub during: Option<(Timestamp, Timestamp)>,
    /// All but this one.
    pub but: Option<Uuid>,
    /// Below this one in the order.
    pub before: Option<(Timestamp, Uuid)>,
    pub limit: i64,
}

/// Incidents, the latest opened first.
pub async fn list(conn: &mut PgConnection, f: &Filter) -> sqlx::Result<Vec<IncidentRow>> {
    let (before_at, before_id) = f.before.unzip();
    let (during_from, during_to) = f.during.unzip();
    sqlx::query!(
        r#"select i.monitor_id, i.incident_id, i.subject, i.severity, i.peak, i.started_at, i.opened_at, i.ended_at,
                  i.resolved_at, i.resolve_reason, i.low, i.suppressed, i.flapping, i.evidence_stale, i.acked_at, i.acked_by,
                  i.acked_until,
                  i.title, i.sentence, case when $1::uuid is not null then i.evidence end as evidence,
                  m.uid as "uid?", m.name as "name?", m.group_name as "group_name?", m.check_spec as "check_spec?", m.runbook_url,
                  m.fleet as "monitor_fleet?", i.fleet_id, i.group_id, f.uid as "fleet_uid?", f.name as "fleet_name?", i.slo_id,
                  s.uid as "slo_uid?", s.name as "slo_name?", t.group_id as "storm_id?", t.shared as "storm_shared?"
           from incident i left join monitor m on m.monitor_id = i.monitor_id and m.deleted_at is null
                left join fleet f on f.fleet_id = i.fleet_id
                left join slo s on s.slo_id = i.slo_id
                left join storm_member t on t.incident_id = i.incident_id
           where ($1::uuid is null or i.incident_id = $1)
             and ($2::bool is null or (i.resolved_at is null) = $2)
             and ($3::int4 is null or i.monitor_id = $3)
             and ($4::timestamptz is null or i.opened_at >= $4)
             and ($5::timestamptz is null or i.opened_at < $5)
             and ($6::timestamptz is null or (i.started_at < $7 and (i.ended_at is null or i.ended_at > $6)))
             and ($8::uuid is null or i.incident_id <> $8)
             and ($9::timestamptz is null or (i.opened_at, i.incident_id) < ($9, $10::uuid))
             and ($12::int4 is null or i.fleet_id = $12)
             and ($13::int4 is null or i.slo_id = $13)
             and ($14::text is null or starts_with(i.subject, $14 || ':'))
             and ($15::text is null or i.subject = $15)
             and ($16::uuid is null or t.group_id = $16)
           order by i.opened_at desc, i.incident_id desc limit $11"#,
        f.incident,
        f.open,
        f.monitor,
        f.from.map(|t| t.to_sqlx()) as _,
        f.to.map(|t| t.to_sqlx()) as _,
        during_from.map(|t| t.to_sqlx()) as _,
        during_to.map(|t| t.to_sqlx()) as _,
        f.but,
        before_at.map(|t| t.to_sqlx()) as _,
        before_id,
        f.limit,
        f.fleet.map(|key| key.0),
        f.slo.map(|key| key.0),
        f.kind,
        f.subject.as_deref(),
        f.storm,
    )
    .map(|r| IncidentRow {
        monitor: MonitorKey(r.monitor_id),
        incident: r.incident_id,
        subject: r.subject,
        severity: r.severity,
        peak: r.peak,
        started_at: r.started_at.to_jiff(),
        opened_at: r.opened_at.to_jiff(),
        ended_at: r.ended_at.map(|t| t.to_jiff()),
        resolved_at: r.resolved_at.map(|t| t.to_jiff()),
        resolve_reason: r.resolve_reason,
        low: r.low,
        suppressed: r.suppressed,
        flapping: r.flapping,
        evidence_stale: r.evidence_stale,
        acked_at: r.acked_at.map(|t| t.to_jiff()),
        acked_by: r.acked_by,
        acked_until: r.acked_until.map(|t| t.to_jiff()),
        title: r.title,
        sentence: r.sentence,
        evidence: r.evidence,
        about: match (r.uid, r.name, r.group_name, r.check_spec) {
            (Some(uid), Some(name), Some(group), Some(check_spec)) => {
                let (runbook_url, fleet) = (r.runbook_url, r.monitor_fleet);
                Some(About { uid, name, group, check_spec, runbook_url, fleet })
            }
            _ => None,
        },
        fleet: match (r.fleet_id, r.fleet_uid, r.fleet_name) {
            (Some(key), Some(uid), Some(name)) => {
                Some(AboutFleet { key: FleetKey(key), uid, name })
            }
            _ => None,
        },
        slo: match (r.slo_id, r.slo_uid, r.slo_name) {
            (Some(key), Some(uid), Some(name)) => Some(AboutSlo { key: SloKey(key), uid, name }),
            _ => None,
        },
        group: r.group_id,
        storm: r.storm_id.zip(r.storm_shared),
    })
    .fetch_all(conn)
    .await
}

#[derive(Debug, Clone)]
pub struct EventRow {
    pub no: i32,
    pub at: Timestamp,
    pub kind: String,
    pub actor: Option<String>,
    pub sentence: String,
    pub data: serde_json::Value,
}

/// What happened to an incident, oldest first.
pub async fn events(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
) -> sqlx::Result<Vec<EventRow>> {
    sqlx::query!(
        "select event_no, at, kind, actor, sentence, data from incident_event
         where monitor_id = $1 and incident_id = $2 order by event_no",
        monitor.0,
        incident
    )
    .map(|r| EventRow {
        no: r.event_no,
        at: r.at.to_jiff(),
        kind: r.kind,
        actor: r.actor,
        sentence: r.sentence,
        data: r.data,
    })
    .fetch_all(conn)
    .await
}

/// Acknowledges an open incident, or takes that back. False when nothing changed.
pub async fn acknowledge(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
    by: Option<&str>,
    until: Option<Timestamp>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update incident set acked_at = case when $3::text is null then null else $4::timestamptz end, acked_by = $3,
             acked_until = $5
         where monitor_id = $1 and incident_id = $2 and resolved_at is null and (acked_at is null) = ($3::text is not null)",
        monitor.0,
        incident,
        by,
        now.to_sqlx(),
        until.map(|t| t.to_sqlx()) as _,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Open incidents that are told under `incident`: it alone, or all of a group. Those that are acknowledged by
/// now are not any more; their ids.
pub async fn end_acknowledgement(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar!(
        "update incident set acked_at = null, acked_by = null, acked_until = null
         where monitor_id = $1 and (incident_id = $2 or group_id = $2) and resolved_at is null and acked_at is not null
         returning incident_id",
        monitor.0,
        incident
    )
    .fetch_all(conn)
    .await
}
