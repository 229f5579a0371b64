//! How incidents are escalated. A row is written under its incident's lock; of a group of a fleet's incidents
//! it stands under the group's id.

use jiff::{SignedDuration, Timestamp};
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{
    Millis,
    escalation::{Policy, progress::Progress},
    ids::{FleetKey, MonitorKey, SloKey},
    notice::Notice,
};

#[derive(Debug, Clone)]
pub struct Plan {
    pub policy: Policy,
    /// Name of the policy that was copied.
    pub escalation: Option<String>,
    /// Name of the route that led there.
    pub route: Option<String>,
    /// Channels of the route, without an escalation.
    pub channels: Option<Vec<Uuid>>,
    pub progress: Progress,
    /// As it was told last.
    pub payload: Notice,
    /// None once the incident is over.
    pub next_at: Option<Timestamp>,
}

/// Writes a plan, over the one there was.
pub async fn save(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
    plan: &Plan,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into incident_plan
             (monitor_id, incident_id, policy, escalation, route, channels, progress, payload, next_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict (monitor_id, incident_id) do update
         set policy = excluded.policy, escalation = excluded.escalation, route = excluded.route,
             channels = excluded.channels, progress = excluded.progress, payload = excluded.payload,
             next_at = excluded.next_at",
        monitor.0,
        incident,
        super::json::of(&plan.policy)?,
        plan.escalation,
        plan.route,
        plan.channels.as_deref() as _,
        super::json::of(&plan.progress)?,
        super::json::of(&plan.payload)?,
        plan.next_at.map(|t| t.to_sqlx()) as _,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Reads and locks; the caller holds the lock of whom the incident is about.
pub async fn lock(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
) -> sqlx::Result<Option<Plan>> {
    sqlx::query!(
        "select from incident_plan where monitor_id = $1 and incident_id = $2 for no key update",
        monitor.0,
        incident
    )
    .fetch_optional(&mut *conn)
    .await?;
    get(conn, monitor, incident).await
}

pub async fn get(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
) -> sqlx::Result<Option<Plan>> {
    let row = sqlx::query!(
        "select policy, escalation, route, channels, progress, payload, next_at from incident_plan
         where monitor_id = $1 and incident_id = $2",
        monitor.0,
        incident
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Plan {
        policy: super::json::read(row.policy)?,
        escalation: row.escalation,
        route: row.route,
        channels: row.channels,
        progress: super::json::read(row.progress)?,
        payload: super::json::read(row.payload)?,
        next_at: row.next_at.map(|t| t.to_jiff()),
    }))
}

/// A plan that is to be looked at, and whom its incident is about.
#[derive(Debug, Clone, Copy)]
pub struct DuePlan {
    pub monitor: MonitorKey,
    pub incident: Uuid,
    pub fleet: Option<FleetKey>,
    pub slo: Option<SloKey>,
}

/// Takes up to `limit` plans whose time has come; nobody else gets them before `lease` is over, so a process
/// that dies on the way delays them and no more. Waits for nobody.
pub async fn claim(
    conn: &mut PgConnection,
    now: Timestamp,
    lease: SignedDuration,
    limit: i64,
) -> sqlx::Result<Vec<DuePlan>> {
    sqlx::query!(
        r#"with due as (
               select monitor_id, incident_id from incident_plan where next_at <= $1
               order by next_at limit $3 for no key update skip locked
           ), taken as (
               update incident_plan p set next_at = $2 from due
               where p.monitor_id = due.monitor_id and p.incident_id = due.incident_id
               returning p.monitor_id, p.incident_id
           )
           select t.monitor_id, t.incident_id, i.fleet_id as "fleet_id?", i.slo_id as "slo_id?"
           from taken t left join incident i using (monitor_id, incident_id)
           order by t.monitor_id, t.incident_id"#,
        now.to_sqlx(),
        now.saturating_add(lease).unwrap_or(now).to_sqlx(),
        limit
    )
    .map(|r| DuePlan {
        monitor: MonitorKey(r.monitor_id),
        incident: r.incident_id,
        fleet: r.fleet_id.map(FleetKey),
        slo: r.slo_id.map(SloKey),
    })
    .fetch_all(conn)
    .await
}

/// Stretches of maintenance that keep an incident silent and touch `[from, to]`, each with two of the
/// monitor's intervals after it. `fleet` for an incident of a fleet.
pub async fn quiet(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    fleet: Option<FleetKey>,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<(Millis, Millis)>> {
    let rows = sqlx::query!(
        r#"with tail as (
               select coalesce((select 2 * interval_s from monitor where monitor_id = $1), 0) * interval '1 second' as long
           )
           select w.start_at, w.end_at + tail.long as "end_at!" from maintenance w, tail
           where w.suppress_alerts and w.kind = 'planned' and w.locations is null
             and w.start_at <= $4 and w.end_at + tail.long > $3
             and ((w.monitors is null and w.fleets is null) or ($1 <> 0 and $1 = any(w.monitors))
                  or ($2::int4 is not null and $2 = any(w.fleets)))
           order by w.start_at"#,
        monitor.0,
        fleet.map(|key| key.0),
        from.to_sqlx(),
        to.to_sqlx()
    )
    .fetch_all(conn)
    .await?;
    let millis = |at: jiff_sqlx::Timestamp| at.to_jiff().as_millisecond();
    Ok(rows.into_iter().map(|r| (millis(r.start_at), millis(r.end_at))).collect())
}
