//! Roll-ups per quarter hour and per civil day.

use std::collections::BTreeMap;

use jiff::{Timestamp, civil::Date};
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::ids::{LocationKey, MonitorKey};
use crate::domain::{rollup::Counts, sketch::Sketch};

/// Replaces the quarter's rows of a monitor range (half-open) by `rows`.
pub async fn replace_quarter(
    conn: &mut PgConnection,
    monitors: std::ops::Range<i32>,
    at: Timestamp,
    rows: &[(MonitorKey, LocationKey, Counts)],
) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from rollup_quarter where monitor_id >= $1 and monitor_id < $2 and at = $3",
        monitors.start,
        monitors.end,
        at.to_sqlx()
    )
    .execute(&mut *conn)
    .await?;
    let columns = Columns::of(rows);
    sqlx::query!(
        "insert into rollup_quarter (monitor_id, at, location_id, runs, passes, fails, errors, events_ok, events_fail,
                                     events_invalid, first_fails, retried, retried_fail, sum_us, thresholds, classes, sketch)
         select m, $1, l, r, p, f, e, eo, ef, ei, ff, rt, rf, s, t::jsonb, c::jsonb, k
         from unnest($2::int4[], $3::int2[], $4::int4[], $5::int4[], $6::int4[], $7::int4[], $8::int4[], $9::int4[],
                     $10::int4[], $11::int8[], $12::text[], $13::text[], $14::bytea[], $15::int4[], $16::int4[], $17::int4[])
              as u(m, l, r, p, f, e, eo, ef, ei, s, t, c, k, ff, rt, rf)",
        at.to_sqlx(),
        &columns.monitor,
        &columns.location,
        &columns.runs,
        &columns.passes,
        &columns.fails,
        &columns.errors,
        &columns.events_ok,
        &columns.events_fail,
        &columns.events_invalid,
        &columns.sum_us,
        &columns.thresholds,
        &columns.classes,
        &columns.sketch,
        &columns.first_fails,
        &columns.retried,
        &columns.retried_fail,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Replaces a civil day's rows of a monitor range by `rows`.
pub async fn replace_day(
    conn: &mut PgConnection,
    monitors: std::ops::Range<i32>,
    zone: &str,
    day: Date,
    rows: &[(MonitorKey, LocationKey, Counts)],
) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from rollup_day where monitor_id >= $1 and monitor_id < $2 and zone = $3 and day = $4",
        monitors.start,
        monitors.end,
        zone,
        day.to_sqlx()
    )
    .execute(&mut *conn)
    .await?;
    let columns = Columns::of(rows);
    sqlx::query!(
        "insert into rollup_day (monitor_id, zone, day, location_id, runs, passes, fails, errors, events_ok, events_fail,
                                 events_invalid, sum_us, thresholds, classes, sketch)
         select m, $1, $2, l, r, p, f, e, eo, ef, ei, s, t::jsonb, c::jsonb, k
         from unnest($3::int4[], $4::int2[], $5::int4[], $6::int4[], $7::int4[], $8::int4[], $9::int4[], $10::int4[],
                     $11::int4[], $12::int8[], $13::text[], $14::text[], $15::bytea[])
              as u(m, l, r, p, f, e, eo, ef, ei, s, t, c, k)",
        zone,
        day.to_sqlx(),
        &columns.monitor,
        &columns.location,
        &columns.runs,
        &columns.passes,
        &columns.fails,
        &columns.errors,
        &columns.events_ok,
        &columns.events_fail,
        &columns.events_invalid,
        &columns.sum_us,
        &columns.thresholds,
        &columns.classes,
        &columns.sketch,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// One quarter of one monitor at one location.
#[derive(Debug, Clone)]
pub struct QuarterRow {
    pub at: Timestamp,
    pub monitor: MonitorKey,
    pub location: LocationKey,
    pub counts: Counts,
}

/// Quarters that begin in [from, to) of a monitor range, by monitor, time and location.
pub async fn quarters(
    conn: &mut PgConnection,
    monitors: std::ops::Range<i32>,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<QuarterRow>> {
    sqlx::query!(
        "select monitor_id, at, location_id, runs, passes, fails, errors, events_ok, events_fail, events_invalid, sum_us,
                first_fails, retried, retried_fail, thresholds, classes, sketch
         from rollup_quarter
         where monitor_id >= $1 and monitor_id < $2 and at >= $3 and at < $4
         order by monitor_id, at, location_id",
        monitors.start,
        monitors.end,
        from.to_sqlx(),
        to.to_sqlx(),
    )
    .try_map(|r| {
        let count = |v: i32| u32::try_from(v).unwrap_or_default();
        Ok(QuarterRow {
            at: r.at.to_jiff(),
            monitor: MonitorKey(r.monitor_id),
            location: LocationKey(r.location_id),
            counts: Counts {
                runs: count(r.runs),
                passes: count(r.passes),
                fails: count(r.fails),
                errors: count(r.errors),
                events_ok: count(r.events_ok),
                events_fail: count(r.events_fail),
                events_invalid: count(r.events_invalid),
                first_fails: count(r.first_fails.unwrap_or_default()),
                retried: count(r.retried.unwrap_or_default()),
                retried_fail: count(r.retried_fail.unwrap_or_default()),
                sum_us: u64::try_from(r.sum_us).unwrap_or_default(),
                thresholds: map(&r.thresholds)?,
                classes: map(&r.classes)?,
                sketch: Sketch::from_bytes(&r.sketch)
                    .ok_or_else(|| sqlx::Error::Decode("rollup_quarter.sketch is damaged".into()))?,
            },
        })
    })
    .fetch_all(conn)
    .await
}

/// Asks for a quarter to be counted again, because a late report touched it.
pub async fn mark_due(
    conn: &mut PgConnection,
    quarters: &[(MonitorKey, Timestamp)],
) -> sqlx::Result<()> {
    if quarters.is_empty() {
        return Ok(());
    }
    let monitor: Vec<i32> = quarters.iter().map(|(m, _)| m.0).collect();
    let at: Vec<_> = quarters.iter().map(|(_, at)| at.to_sqlx()).collect();
    sqlx::query!(
        "insert into rollup_due (monitor_id, at) select m, a from unnest($1::int4[], $2::timestamptz[]) as u(m, a)
         on conflict do nothing",
        &monitor,
        &at as _
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes up to `limit` quarters off the list; the deletion is the claim, in the transaction that counts.
pub async fn take_due(
    conn: &mut PgConnection,
    limit: i64,
) -> sqlx::Result<Vec<(MonitorKey, Timestamp)>> {
    sqlx::query!(
        "delete from rollup_due where (monitor_id, at) in (
             select monitor_id, at from rollup_due order by at, monitor_id limit $1 for update skip locked)
         returning monitor_id, at",
        limit
    )
    .map(|r| (MonitorKey(r.monitor_id), r.at.to_jiff()))
    .fetch_all(conn)
    .await
}

/// Up to where a chore has come.
pub async fn mark(conn: &mut PgConnection, name: &str) -> sqlx::Result<Option<Timestamp>> {
    Ok(sqlx::query_scalar!("select at from rollup_mark where name = $1", name)
        .fetch_optional(conn)
        .await?
        .map(|t| t.to_jiff()))
}

pub async fn set_mark(conn: &mut PgConnection, name: &str, at: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into rollup_mark (name, at) values ($1, $2) on conflict (name) do update set at = excluded.at",
        name,
        at.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What latency of a monitor is compared with.
#[derive(Debug, Clone)]
pub struct LimitsRow {
    pub monitor: MonitorKey,
    /// The limit for "slow".
    pub slow_ms: Option<i32>,
    /// Conditions of the check; those on latency are in milliseconds.
    pub assertions: serde_json::Value,
    /// Thresholds of SLOs on latency, in µs.
    pub slos: Vec<i64>,
}

/// Monitors with their latency thresholds in use.
pub async fn thresholds(
    conn: &mut PgConnection,
    monitors: std::ops::Range<i32>,
) -> sqlx::Result<Vec<LimitsRow>> {
    sqlx::query!(
        r#"select m.monitor_id, m.slow_ms, coalesce(m.check_spec -> 'assertions', '[]') as "assertions!",
                  coalesce((select array_agg((s.definition ->> 'threshold_us')::int8 order by s.slo_id) from slo s
                            where s.monitor_id = m.monitor_id and s.deleted_at is null and s.definition ? 'threshold_us'), '{}')
                      as "slos!"
           from monitor m where m.monitor_id >= $1 and m.monitor_id < $2 order by m.monitor_id"#,
        monitors.start,
        monitors.end
    )
    .map(|r| LimitsRow {
        monitor: MonitorKey(r.monitor_id),
        slow_ms: r.slow_ms,
        assertions: r.assertions,
        slos: r.slos,
    })
    .fetch_all(conn)
    .await
}

/// The largest monitor key in use.
pub async fn last_monitor(conn: &mut PgConnection) -> sqlx::Result<i32> {
    sqlx::query_scalar!(r#"select coalesce(max(monitor_id), 0) as "last!" from monitor"#)
        .fetch_one(conn)
        .await
}

/// Drops quarters before an instant; civil days stay for ever.
pub async fn forget_quarters(conn: &mut PgConnection, before: Timestamp) -> sqlx::Result<u64> {
    Ok(sqlx::query!("delete from rollup_quarter where at < $1", before.to_sqlx())
        .execute(conn)
        .await?
        .rows_affected())
}

fn map<K, V>(value: &serde_json::Value) -> sqlx::Result<BTreeMap<K, V>>
where
    K: serde::de::DeserializeOwned + Ord,
    V: serde::de::DeserializeOwned,
{
    serde_json::from_value(value.clone()).map_err(|e| sqlx::Error::Decode(e.into()))
}

/// The rows turned on their side, as `unnest` takes them.
#[derive(Default)]
struct Columns {
    monitor: Vec<i32>,
    location: Vec<i16>,
    runs: Vec<i32>,
    passes: Vec<i32>,
    fails: Vec<i32>,
    errors: Vec<i32>,
    events_ok: Vec<i32>,
    events_fail: Vec<i32>,
    events_invalid: Vec<i32>,
    first_fails: Vec<i32>,
    retried: Vec<i32>,
    retried_fail: Vec<i32>,
    sum_us: Vec<i64>,
    thresholds: Vec<String>,
    classes: Vec<String>,
    sketch: Vec<Vec<u8>>,
}

impl Columns {
    fn of(rows: &[(MonitorKey, LocationKey, Counts)]) -> Self {
        let int = |v: u32| i32::try_from(v).unwrap_or(i32::MAX);
        let json = |v: serde_json::Result<String>| v.unwrap_or_else(|_| "{}".to_owned());
        let mut columns = Self::default();
        for (monitor, location, counts) in rows {
            columns.monitor.push(monitor.0);
            columns.location.push(location.0);
            columns.runs.push(int(counts.runs));
            columns.passes.push(int(counts.passes));
            columns.fails.push(int(counts.fails));
            columns.errors.push(int(counts.errors));
            columns.events_ok.push(int(counts.events_ok));
            columns.events_fail.push(int(counts.events_fail));
            columns.events_invalid.push(int(counts.events_invalid));
            columns.first_fails.push(int(counts.first_fails));
            columns.retried.push(int(counts.retried));
            columns.retried_fail.push(int(counts.retried_fail));
            columns.sum_us.push(i64::try_from(counts.sum_us).unwrap_or(i64::MAX));
            columns.thresholds.push(json(serde_json::to_string(&counts.thresholds)));
            columns.classes.push(json(serde_json::to_string(&counts.classes)));
            columns.sketch.push(counts.sketch.to_bytes());
        }
        columns
    }
}
