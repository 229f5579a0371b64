//! What documents say beside a report, one statement each for all the monitors of an SLO.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::{Millis, ids::SloKey};

/// Milliseconds since 1970.
fn millis(at: jiff_sqlx::Timestamp) -> Millis {
    at.to_jiff().as_millisecond()
}

/// A span of time, `[from, to)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub from: Timestamp,
    pub to: Timestamp,
}

pub(super) struct IncidentRow {
    pub id: String,
    pub monitor: String,
    pub started_at: Millis,
    pub opened_at: Millis,
    pub ended_at: Option<Millis>,
    pub evidence: serde_json::Value,
    pub acked_at: Option<Millis>,
    pub acked_by: Option<String>,
}

/// Incidents of monitors that touch the span, oldest first.
pub(super) async fn incidents(
    conn: &mut PgConnection,
    keys: &[i32],
    span: Span,
) -> sqlx::Result<Vec<IncidentRow>> {
    sqlx::query!(
        r#"select i.incident_id, m.name, i.started_at as "started_at: jiff_sqlx::Timestamp",
                  i.opened_at as "opened_at: jiff_sqlx::Timestamp", i.ended_at as "ended_at: jiff_sqlx::Timestamp",
                  i.evidence, i.acked_at as "acked_at: jiff_sqlx::Timestamp", i.acked_by
           from incident i join monitor m using (monitor_id)
           where i.monitor_id = any($1) and starts_with(i.subject, 'monitor:') and i.started_at < $3 and (i.ended_at is null or i.ended_at > $2)
           order by i.started_at, i.incident_id"#,
        keys,
        span.from.to_sqlx(),
        span.to.to_sqlx(),
    )
    .map(|r| IncidentRow {
        id: r.incident_id.to_string(),
        monitor: r.name,
        started_at: millis(r.started_at),
        opened_at: millis(r.opened_at),
        ended_at: r.ended_at.map(millis),
        evidence: r.evidence,
        acked_at: r.acked_at.map(millis),
        acked_by: r.acked_by,
    })
    .fetch_all(conn)
    .await
}

pub(super) struct MaintenanceRow {
    pub id: String,
    pub start: Millis,
    pub declared_at: Millis,
    pub declared_by: String,
    /// It covers every monitor.
    pub everything: bool,
}

/// Who declared maintenance that touches the span, and when.
pub(super) async fn maintenance(
    conn: &mut PgConnection,
    keys: &[i32],
    span: Span,
) -> sqlx::Result<Vec<MaintenanceRow>> {
    sqlx::query!(
        r#"select coalesce(w.plan_id, o.maintenance_id) as "maintenance_id!", o.start_at as "start_at: jiff_sqlx::Timestamp",
                  o.declared_at as "declared_at: jiff_sqlx::Timestamp", o.declared_by, o.monitor_id
           from maintenance_occurrence o left join maintenance w using (maintenance_id)
           where (o.monitor_id = any($1) or o.monitor_id = 0) and o.start_at < $3 and o.end_at > $2
           order by o.start_at, o.maintenance_id"#,
        keys,
        span.from.to_sqlx(),
        span.to.to_sqlx(),
    )
    .map(|r| MaintenanceRow {
        id: r.maintenance_id.to_string(),
        start: millis(r.start_at),
        declared_at: millis(r.declared_at),
        declared_by: r.declared_by,
        everything: r.monitor_id == 0,
    })
    .fetch_all(conn)
    .await
}

pub(super) struct PeriodRow {
    pub start: Millis,
    pub pct: Option<String>,
    pub met: Option<bool>,
    pub state: Option<String>,
}

/// The last revision of each frozen window that began before an instant, the latest first.
pub(super) async fn periods(
    conn: &mut PgConnection,
    slo: SloKey,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<PeriodRow>> {
    sqlx::query!(
        r#"select distinct on (window_start) window_start as "window_start: jiff_sqlx::Timestamp",
                  report #>> '{availability,pct}' as pct, (report #>> '{availability,met}')::bool as met, report ->> 'state' as state
           from slo_report_revision where slo_id = $1 and window_start < $2
           order by window_start desc, revision desc limit $3"#,
        slo.0,
        before.to_sqlx(),
        limit,
    )
    .map(|r| PeriodRow { start: millis(r.window_start), pct: r.pct, met: r.met, state: r.state })
    .fetch_all(conn)
    .await
}

pub(super) struct AlertRow {
    pub subject: String,
    pub from: Millis,
    pub to: Option<Millis>,
    /// The fastest burn that was seen, over the long lookback and the short one.
    pub worst: (Option<f64>, Option<f64>),
}

/// Alerts of an SLO that were on in the span, oldest first.
pub(super) async fn alerts(
    conn: &mut PgConnection,
    slo: SloKey,
    span: Span,
) -> sqlx::Result<Vec<AlertRow>> {
    sqlx::query!(
        r#"select subject, started_at as "started_at: jiff_sqlx::Timestamp", ended_at as "ended_at: jiff_sqlx::Timestamp",
                  (evidence #>> '{worst,long}')::float8 as long, (evidence #>> '{worst,short}')::float8 as short
           from incident where slo_id = $1 and started_at < $3 and (ended_at is null or ended_at > $2)
           order by started_at, incident_id"#,
        slo.0,
        span.from.to_sqlx(),
        span.to.to_sqlx(),
    )
    .map(|r| AlertRow {
        subject: r.subject,
        from: millis(r.started_at),
        to: r.ended_at.map(millis),
        worst: (r.long, r.short),
    })
    .fetch_all(conn)
    .await
}

pub(super) struct LatencyRow {
    pub name: String,
    pub definition: serde_json::Value,
    pub pct: Option<String>,
    pub met: Option<bool>,
    pub state: Option<String>,
}

/// Other SLOs on the latency of the same monitors: as they were frozen for the window that begins here, or,
/// while it runs, as they were evaluated last.
pub(super) async fn latencies(
    conn: &mut PgConnection,
    slo: SloKey,
    keys: &[i32],
    start: Timestamp,
) -> sqlx::Result<Vec<LatencyRow>> {
    sqlx::query!(
        r#"select s.name, s.definition, coalesce(r.report #>> '{availability,pct}', e.pct) as pct,
                  coalesce((r.report #>> '{availability,met}')::bool, e.met) as met, coalesce(r.report ->> 'state', e.state) as state
           from slo s
           left join lateral (
               select report from slo_report_revision v
               where v.slo_id = s.slo_id and v.window_start = $3 order by revision desc limit 1) as r on true
           left join slo_evaluation e on e.slo_id = s.slo_id and e.window_start = $3
           where s.monitor_id = any($2) and s.slo_id <> $1 and s.deleted_at is null and s.definition ->> 'sli' = 'latency'
             and (r.report is not null or e.slo_id is not null)
           order by s.name"#,
        slo.0,
        keys,
        start.to_sqlx(),
    )
    .map(|r| LatencyRow { name: r.name, definition: r.definition, pct: r.pct, met: r.met, state: r.state })
    .fetch_all(conn)
    .await
}

pub(super) struct BlindRow {
    pub monitor: i32,
    pub at: Millis,
    pub sentence: String,
}

/// What was decided when a monitor became unknown, a little before the span included; oldest first.
pub(super) async fn blind(
    conn: &mut PgConnection,
    keys: &[i32],
    span: Span,
    unknown: i16,
) -> sqlx::Result<Vec<BlindRow>> {
    sqlx::query!(
        r#"select monitor_id, at as "at: jiff_sqlx::Timestamp", sentence from decision
           where monitor_id = any($1) and at >= $2::timestamptz - interval '10 minutes' and at < $3::timestamptz + interval '10 minutes'
             and state = $4 and changed
           order by monitor_id, at"#,
        keys,
        span.from.to_sqlx() as _,
        span.to.to_sqlx() as _,
        unknown,
    )
    .map(|r| BlindRow { monitor: r.monitor_id, at: millis(r.at), sentence: r.sentence })
    .fetch_all(conn)
    .await
}

pub(super) struct ChangeRow {
    pub at: Millis,
    pub actor: String,
    pub action: String,
    pub detail: serde_json::Value,
}

/// What people did to monitors (`monitor:UUID`) in the span, oldest first.
pub(super) async fn changes(
    conn: &mut PgConnection,
    subjects: &[String],
    span: Span,
) -> sqlx::Result<Vec<ChangeRow>> {
    sqlx::query!(
        r#"select at as "at: jiff_sqlx::Timestamp", actor, action, detail from audit
           where subject = any($1) and at >= $2 and at < $3 and action like 'monitor.%'
           order by at, audit_id limit 200"#,
        subjects,
        span.from.to_sqlx(),
        span.to.to_sqlx(),
    )
    .map(|r| ChangeRow { at: millis(r.at), actor: r.actor, action: r.action, detail: r.detail })
    .fetch_all(conn)
    .await
}

/// Beginnings of what late results changed in the span, with the monitors' names.
pub(super) async fn late(
    conn: &mut PgConnection,
    keys: &[i32],
    span: Span,
) -> sqlx::Result<Vec<(Millis, String)>> {
    sqlx::query!(
        r#"select s.from_at as "from_at: jiff_sqlx::Timestamp", m.name from monitor_state s join monitor m using (monitor_id)
           where s.monitor_id = any($1) and s.found_late and s.from_at >= $2 and s.from_at < $3
           order by s.from_at limit 200"#,
        keys,
        span.from.to_sqlx(),
        span.to.to_sqlx(),
    )
    .map(|r| (millis(r.from_at), r.name))
    .fetch_all(conn)
    .await
}

pub(super) struct WatchedRow {
    pub key: i32,
    pub name: String,
    pub subject: String,
    pub check: serde_json::Value,
    pub interval_s: i32,
    pub timeout_ms: i32,
    pub slow_ms: Option<i32>,
    pub policy: serde_json::Value,
    /// Name, region and domain, in configured order.
    pub locations: Vec<(String, String, String)>,
}

/// How monitors are watched at present, deleted ones too.
pub(super) async fn watched(
    conn: &mut PgConnection,
    keys: &[i32],
) -> sqlx::Result<Vec<WatchedRow>> {
    let mut rows = sqlx::query!(
        r#"select monitor_id, name, 'monitor:' || uid as "subject!", check_spec, interval_s, timeout_ms, slow_ms, policy
           from monitor where monitor_id = any($1) order by name"#,
        keys
    )
    .map(|r| WatchedRow {
        key: r.monitor_id,
        name: r.name,
        subject: r.subject,
        check: r.check_spec,
        interval_s: r.interval_s,
        timeout_ms: r.timeout_ms,
        slow_ms: r.slow_ms,
        policy: r.policy,
        locations: Vec::new(),
    })
    .fetch_all(&mut *conn)
    .await?;
    let places = sqlx::query!(
        "select p.monitor_id, l.name, l.region, l.domain from monitor_location p join location l using (location_id)
         where p.monitor_id = any($1) order by p.monitor_id, p.position",
        keys
    )
    .fetch_all(conn)
    .await?;
    for place in places {
        if let Some(row) = rows.iter_mut().find(|row| row.key == place.monitor_id) {
            row.locations.push((place.name, place.region, place.domain));
        }
    }
    Ok(rows)
}
