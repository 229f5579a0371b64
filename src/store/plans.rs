//! What was to be probed since when.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::ids::{LocationKey, MonitorKey};

/// Notes the interval and the locations of monitors as they are from now on, where they differ from what was
/// noted last.
pub async fn note(conn: &mut PgConnection, monitors: &[i32], now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into monitor_plan (monitor_id, from_at, interval_s, locations)
         select m.monitor_id, $2, m.interval_s, w.locations
         from monitor m
         cross join lateral (
             select coalesce(array_agg(l.location_id order by l.position), '{}') as locations
             from monitor_location l where l.monitor_id = m.monitor_id) as w
         left join lateral (
             select p.interval_s, p.locations from monitor_plan p
             where p.monitor_id = m.monitor_id order by p.from_at desc limit 1) as p on true
         where m.monitor_id = any($1) and (p.interval_s, p.locations) is distinct from (m.interval_s, w.locations)
         on conflict (monitor_id, from_at) do update
         set interval_s = excluded.interval_s, locations = excluded.locations",
        monitors,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A monitor's plan from an instant on, until the next one begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRow {
    pub from_at: Timestamp,
    pub interval_s: i32,
    /// In configured order.
    pub locations: Vec<LocationKey>,
}

/// The plans of a monitor that hold at some time at or after `from`, oldest first.
pub async fn since(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    from: Timestamp,
) -> sqlx::Result<Vec<PlanRow>> {
    sqlx::query!(
        "select from_at, interval_s, locations from monitor_plan
         where monitor_id = $1 and from_at >= coalesce((
             select max(from_at) from monitor_plan where monitor_id = $1 and from_at <= $2), '-infinity')
         order by from_at",
        monitor.0,
        from.to_sqlx()
    )
    .map(|r| PlanRow {
        from_at: r.from_at.to_jiff(),
        interval_s: r.interval_s,
        locations: r.locations.into_iter().map(LocationKey).collect(),
    })
    .fetch_all(conn)
    .await
}

/// The same of several monitors, in one statement.
pub async fn of_many(
    conn: &mut PgConnection,
    monitors: &[i32],
    from: Timestamp,
) -> sqlx::Result<BTreeMap<MonitorKey, Vec<PlanRow>>> {
    let rows = sqlx::query!(
        r#"select p.monitor_id as "monitor_id!", p.from_at as "from_at!: jiff_sqlx::Timestamp", p.interval_s as "interval_s!",
                  p.locations as "locations!"
           from unnest($1::int4[]) as m(id)
           cross join lateral (
               select * from monitor_plan
               where monitor_id = m.id and from_at >= coalesce((
                   select max(from_at) from monitor_plan where monitor_id = m.id and from_at <= $2), '-infinity')) as p
           order by p.monitor_id, p.from_at"#,
        monitors,
        from.to_sqlx()
    )
    .map(|r| {
        let locations = r.locations.into_iter().map(LocationKey).collect();
        let row = PlanRow { from_at: r.from_at.to_jiff(), interval_s: r.interval_s, locations };
        (MonitorKey(r.monitor_id), row)
    })
    .fetch_all(conn)
    .await?;
    let mut all: BTreeMap<MonitorKey, Vec<PlanRow>> = BTreeMap::new();
    for (monitor, row) in rows {
        all.entry(monitor).or_default().push(row);
    }
    Ok(all)
}
