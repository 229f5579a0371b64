//! Maintenance windows as pages show and change them. Constraint `maintenance_order_check`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

#[derive(Debug, Clone)]
pub struct MaintenanceRow {
    pub id: Uuid,
    pub name: String,
    pub start_at: Timestamp,
    pub end_at: Timestamp,
    /// Outside ids. With neither monitors nor fleets it covers all of both.
    pub monitors: Option<Vec<Uuid>>,
    pub fleets: Option<Vec<Uuid>>,
    pub suppress_alerts: bool,
    pub exclude_from_slo: bool,
    pub pause_probes: bool,
    /// Entered afterwards, with a reason.
    pub correction: bool,
    pub reason: String,
    /// Outside ids of the only locations whose results it leaves out.
    pub locations: Option<Vec<Uuid>>,
    pub declared_at: Timestamp,
    pub declared_by: String,
}

#[derive(Debug)]
pub struct NewMaintenance<'a> {
    pub id: Uuid,
    pub name: &'a str,
    pub start_at: Timestamp,
    pub end_at: Timestamp,
    /// Keys. With neither monitors nor fleets it covers all of both; with fleets alone `monitors` is empty.
    pub monitors: Option<&'a [i32]>,
    pub fleets: Option<&'a [i32]>,
    pub suppress_alerts: bool,
    pub exclude_from_slo: bool,
    pub pause_probes: bool,
    pub correction: bool,
    pub reason: &'a str,
    /// Keys of the only locations whose results it leaves out.
    pub locations: Option<&'a [i16]>,
    pub declared_by: &'a str,
}

pub async fn insert(
    conn: &mut PgConnection,
    new: &NewMaintenance<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into maintenance (maintenance_id, name, start_at, end_at, monitors, suppress_alerts, exclude_from_slo,
             pause_probes, declared_at, declared_by, fleets, kind, reason, locations)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        new.id,
        new.name,
        new.start_at.to_sqlx(),
        new.end_at.to_sqlx(),
        new.monitors as _,
        new.suppress_alerts,
        new.exclude_from_slo,
        new.pause_probes,
        now.to_sqlx(),
        new.declared_by,
        new.fleets as _,
        if new.correction { "correction" } else { "planned" },
        new.reason,
        new.locations as _,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What to list: bounds of time, one monitor, a place to go on from.
#[derive(Debug, Default, Clone)]
pub struct Filter {
    pub id: Option<Uuid>,
    /// Windows that end after.
    pub ends_after: Option<Timestamp>,
    /// Windows that end at or before.
    pub ends_by: Option<Timestamp>,
    /// Windows that start after.
    pub starts_after: Option<Timestamp>,
    /// Windows that start at or before.
    pub starts_by: Option<Timestamp>,
    /// Windows that cover this monitor.
    pub monitor: Option<i32>,
    /// Windows that cover this fleet.
    pub fleet: Option<i32>,
    /// Below this one in the order.
    pub before: Option<(Timestamp, Uuid)>,
    pub limit: i64,
}

/// Windows, the latest start first.
pub async fn list(conn: &mut PgConnection, filter: &Filter) -> sqlx::Result<Vec<MaintenanceRow>> {
    let (before_at, before_id) = filter.before.unzip();
    sqlx::query!(
        r#"select w.maintenance_id, w.name, w.start_at, w.end_at, w.suppress_alerts, w.exclude_from_slo, w.pause_probes,
                  w.declared_at, w.declared_by, w.kind, w.reason, w.monitors is null as "all!",
                  w.locations is null as "everywhere!",
                  coalesce((select array_agg(l.uid order by l.name) from location l where l.location_id = any(w.locations)), '{}')
                      as "locations!",
                  coalesce((select array_agg(m.uid order by m.name) from monitor m where m.monitor_id = any(w.monitors)), '{}')
                      as "monitors!",
                  w.fleets is null as "no_fleets!",
                  coalesce((select array_agg(f.uid order by f.name) from fleet f where f.fleet_id = any(w.fleets)), '{}')
                      as "fleets!"
           from maintenance w
           where ($1::uuid is null or w.maintenance_id = $1)
             and ($2::timestamptz is null or w.end_at > $2)
             and ($3::timestamptz is null or w.end_at <= $3)
             and ($4::timestamptz is null or w.start_at > $4)
             and ($5::timestamptz is null or w.start_at <= $5)
             and ($6::int4 is null or w.monitors is null or $6 = any(w.monitors))
             and ($7::timestamptz is null or (w.start_at, w.maintenance_id) < ($7, $8::uuid))
             and ($10::int4 is null or (w.monitors is null and w.fleets is null) or $10 = any(w.fleets))
           order by w.start_at desc, w.maintenance_id desc limit $9"#,
        filter.id,
        filter.ends_after.map(|t| t.to_sqlx()) as _,
        filter.ends_by.map(|t| t.to_sqlx()) as _,
        filter.starts_after.map(|t| t.to_sqlx()) as _,
        filter.starts_by.map(|t| t.to_sqlx()) as _,
        filter.monitor,
        before_at.map(|t| t.to_sqlx()) as _,
        before_id,
        filter.limit,
        filter.fleet,
    )
    .map(|r| MaintenanceRow {
        id: r.maintenance_id,
        name: r.name,
        start_at: r.start_at.to_jiff(),
        end_at: r.end_at.to_jiff(),
        monitors: (!r.all).then_some(r.monitors),
        fleets: (!r.no_fleets).then_some(r.fleets),
        suppress_alerts: r.suppress_alerts,
        exclude_from_slo: r.exclude_from_slo,
        pause_probes: r.pause_probes,
        correction: r.kind == "correction",
        reason: r.reason,
        locations: (!r.everywhere).then_some(r.locations),
        declared_at: r.declared_at.to_jiff(),
        declared_by: r.declared_by,
    })
    .fetch_all(conn)
    .await
}

/// Ends a window that is running. False when it is not.
pub async fn end(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update maintenance set end_at = $2 where maintenance_id = $1 and start_at < $2 and end_at > $2",
        id,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Deletes a window that has not begun. False when it has.
pub async fn delete_planned(
    conn: &mut PgConnection,
    id: Uuid,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "delete from maintenance where maintenance_id = $1 and start_at > $2",
        id,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}
