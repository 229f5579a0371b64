//! Sums of requests by window, pool, instance and route class: shares appended by batches, sums made of
//! them by the judge. Adding is done by whoever reads. Quarter hours are `fleet_quarters`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use serde_json::json;
use sqlx::PgConnection;

use super::copy::Copy;
use crate::domain::{
    fleet::cell::{Cell, Faults, PoolCell, Timed},
    ids::FleetKey,
    sketch::Sketch,
};

/// What a row is; see the migration.
pub const SHARE: i16 = 0;
pub const JUDGED: i16 = 1;
pub const REVISED: i16 = 2;

/// One row of `fleet_cell`, or of `fleet_quarter` with an empty route.
#[derive(Debug, Clone, PartialEq)]
pub struct CellRow {
    /// Beginning of the window.
    pub at: Timestamp,
    pub stage: i16,
    pub pool: String,
    pub instance: String,
    pub route: String,
    /// Who sent this share.
    pub source: Option<String>,
    pub cell: Cell,
}

/// One row of `fleet_pool` or of `fleet_pool_quarter`.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolRow {
    pub at: Timestamp,
    pub stage: i16,
    pub pool: String,
    pub cell: PoolCell,
    /// What is known to the µs, as JSON; only until the window is judged.
    pub marks: Option<serde_json::Value>,
}

const COPY_CELL: &str = "copy fleet_cell (fleet_id, at, stage, pool, instance, route, attempts, unknown, clients, proxies, \
     fault_status, fault_connect, fault_timeout, fault_reset, rescued, bytes, probes_passed, probes_failed, \
     first_us, last_us, codes, latency, sizes, source) from stdin (format binary)";
const COPY_POOL: &str = "copy fleet_pool (fleet_id, at, stage, pool, requests, failed, empty, redispatched, clients, proxies, codes, \
     timed, marks) from stdin (format binary)";
/// Appends rows.
pub async fn append(
    conn: &mut PgConnection,
    fleet: FleetKey,
    cells: &[CellRow],
    pools: &[PoolRow],
) -> sqlx::Result<()> {
    if !cells.is_empty() {
        let mut copy = Copy::new(24, cells.len() * 400);
        for row in cells {
            copy.row();
            copy.int4(Some(fleet.0));
            copy.instant(row.at);
            copy.int2(Some(row.stage));
            copy.bytes(row.pool.as_bytes());
            copy.bytes(row.instance.as_bytes());
            copy.bytes(row.route.as_bytes());
            put_cell(&mut copy, &row.cell);
            match &row.source {
                Some(source) => copy.bytes(source.as_bytes()),
                None => copy.null(),
            }
        }
        copy.send(conn, COPY_CELL).await?;
    }
    if !pools.is_empty() {
        let mut copy = Copy::new(13, pools.len() * 150);
        for row in pools {
            copy.row();
            copy.int4(Some(fleet.0));
            copy.instant(row.at);
            copy.int2(Some(row.stage));
            copy.bytes(row.pool.as_bytes());
            put_pool(&mut copy, &row.cell);
            match &row.marks {
                Some(marks) => copy.json(marks.to_string().as_bytes()),
                None => copy.null(),
            }
        }
        copy.send(conn, COPY_POOL).await?;
    }
    Ok(())
}

pub(super) fn put_cell(copy: &mut Copy, cell: &Cell) {
    for count in [
        cell.attempts,
        cell.unknown,
        cell.clients,
        cell.proxies,
        cell.faults.status,
        cell.faults.connect,
        cell.faults.timeout,
        cell.faults.reset,
        cell.rescued,
        cell.bytes,
        cell.probes_passed,
        cell.probes_failed,
    ] {
        copy.int8(Some(big(count)));
    }
    copy.int8(cell.first_us);
    copy.int8(cell.last_us);
    copy.json(&codes_text(&cell.codes));
    copy.bytes(&cell.latency.to_bytes());
    copy.bytes(&cell.sizes.to_bytes());
}

pub(super) fn put_pool(copy: &mut Copy, cell: &PoolCell) {
    for count in
        [cell.requests, cell.failed, cell.empty, cell.redispatched, cell.clients, cell.proxies]
    {
        copy.int8(Some(big(count)));
    }
    copy.json(&codes_text(&cell.codes));
    if cell.timed.is_empty() {
        copy.null();
    } else {
        copy.json(timed_json(&cell.timed).to_string().as_bytes());
    }
}

/// By bound in µs: how many were judged, and how many were slow.
pub(super) fn timed_json(timed: &BTreeMap<u32, Timed>) -> serde_json::Value {
    let pairs = timed.iter().map(|(bound, one)| (bound.to_string(), json!([one.judged, one.slow])));
    serde_json::Value::Object(pairs.collect())
}

/// Rows of windows that begin in [from, to).
pub async fn cells(
    conn: &mut PgConnection,
    fleet: FleetKey,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<CellRow>> {
    sqlx::query_as!(
        Raw,
        r#"select at, stage, pool, instance, route as "route!", attempts, unknown, clients, proxies, fault_status, fault_connect,
                fault_timeout, fault_reset, rescued, bytes, probes_passed, probes_failed, first_us, last_us, codes,
                latency, sizes, source
         from fleet_cell where fleet_id = $1 and at >= $2 and at < $3"#,
        fleet.0,
        from.to_sqlx(),
        to.to_sqlx()
    )
    .try_map(Raw::read)
    .fetch_all(conn)
    .await
}

/// Rows of windows that begin in [from, to), taken away.
pub async fn take_cells(
    conn: &mut PgConnection,
    fleet: FleetKey,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<CellRow>> {
    sqlx::query_as!(
        Raw,
        r#"delete from fleet_cell where fleet_id = $1 and at >= $2 and at < $3
         returning at, stage, pool, instance, route as "route!", attempts, unknown, clients, proxies, fault_status, fault_connect,
                fault_timeout, fault_reset, rescued, bytes, probes_passed, probes_failed, first_us, last_us, codes,
                latency, sizes, source"#,
        fleet.0,
        from.to_sqlx(),
        to.to_sqlx()
    )
    .try_map(Raw::read)
    .fetch_all(conn)
    .await
}

pub async fn pools(
    conn: &mut PgConnection,
    fleet: FleetKey,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<PoolRow>> {
    sqlx::query_as!(
        RawPool,
        "select at, stage, pool, requests, failed, empty, redispatched, clients, proxies, codes, timed, marks
         from fleet_pool where fleet_id = $1 and at >= $2 and at < $3",
        fleet.0,
        from.to_sqlx(),
        to.to_sqlx()
    )
    .try_map(RawPool::read)
    .fetch_all(conn)
    .await
}

pub async fn take_pools(
    conn: &mut PgConnection,
    fleet: FleetKey,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<PoolRow>> {
    sqlx::query_as!(
        RawPool,
        "delete from fleet_pool where fleet_id = $1 and at >= $2 and at < $3
         returning at, stage, pool, requests, failed, empty, redispatched, clients, proxies, codes, timed, marks",
        fleet.0,
        from.to_sqlx(),
        to.to_sqlx()
    )
    .try_map(RawPool::read)
    .fetch_all(conn)
    .await
}

/// Beginning of the first window before `before` that has any rows.
pub async fn oldest(
    conn: &mut PgConnection,
    fleet: FleetKey,
    before: Timestamp,
) -> sqlx::Result<Option<Timestamp>> {
    let at = sqlx::query_scalar!(
        "select min(at) from (
             select min(at) as at from fleet_cell where fleet_id = $1 and at < $2
             union all select min(at) from fleet_pool where fleet_id = $1 and at < $2) as both_tables",
        fleet.0,
        before.to_sqlx()
    )
    .fetch_one(conn)
    .await?;
    Ok(at.map(|at| at.to_jiff()))
}

/// Beginning of the first window at or after `from` that has any rows.
pub async fn next(
    conn: &mut PgConnection,
    fleet: FleetKey,
    from: Timestamp,
) -> sqlx::Result<Option<Timestamp>> {
    let at = sqlx::query_scalar!(
        "select min(at) from (
             select min(at) as at from fleet_cell where fleet_id = $1 and at >= $2
             union all select min(at) from fleet_pool where fleet_id = $1 and at >= $2) as both_tables",
        fleet.0,
        from.to_sqlx()
    )
    .fetch_one(conn)
    .await?;
    Ok(at.map(|at| at.to_jiff()))
}

pub(super) struct Raw {
    pub(super) at: jiff_sqlx::Timestamp,
    pub(super) stage: i16,
    pub(super) pool: String,
    pub(super) instance: String,
    pub(super) route: String,
    pub(super) attempts: i64,
    pub(super) unknown: i64,
    pub(super) clients: i64,
    pub(super) proxies: i64,
    pub(super) fault_status: i64,
    pub(super) fault_connect: i64,
    pub(super) fault_timeout: i64,
    pub(super) fault_reset: i64,
    pub(super) rescued: i64,
    pub(super) bytes: i64,
    pub(super) probes_passed: i64,
    pub(super) probes_failed: i64,
    pub(super) first_us: Option<i64>,
    pub(super) last_us: Option<i64>,
    pub(super) codes: serde_json::Value,
    pub(super) latency: Vec<u8>,
    pub(super) sizes: Vec<u8>,
    pub(super) source: Option<String>,
}

impl Raw {
    pub(super) fn read(self) -> sqlx::Result<CellRow> {
        Ok(CellRow {
            at: self.at.to_jiff(),
            stage: self.stage,
            pool: self.pool,
            instance: self.instance,
            route: self.route,
            source: self.source,
            cell: Cell {
                attempts: count(self.attempts),
                unknown: count(self.unknown),
                clients: count(self.clients),
                proxies: count(self.proxies),
                faults: Faults {
                    status: count(self.fault_status),
                    connect: count(self.fault_connect),
                    timeout: count(self.fault_timeout),
                    reset: count(self.fault_reset),
                },
                rescued: count(self.rescued),
                codes: codes(&self.codes),
                latency: sketch(&self.latency)?,
                sizes: sketch(&self.sizes)?,
                bytes: count(self.bytes),
                probes_passed: count(self.probes_passed),
                probes_failed: count(self.probes_failed),
                first_us: self.first_us,
                last_us: self.last_us,
            },
        })
    }
}

pub(super) struct RawPool {
    pub(super) at: jiff_sqlx::Timestamp,
    pub(super) stage: i16,
    pub(super) pool: String,
    pub(super) requests: i64,
    pub(super) failed: i64,
    pub(super) empty: i64,
    pub(super) redispatched: i64,
    pub(super) clients: i64,
    pub(super) proxies: i64,
    pub(super) codes: serde_json::Value,
    pub(super) timed: Option<serde_json::Value>,
    pub(super) marks: Option<serde_json::Value>,
}

impl RawPool {
    pub(super) fn read(self) -> sqlx::Result<PoolRow> {
        Ok(PoolRow {
            at: self.at.to_jiff(),
            stage: self.stage,
            pool: self.pool,
            cell: PoolCell {
                requests: count(self.requests),
                failed: count(self.failed),
                empty: count(self.empty),
                redispatched: count(self.redispatched),
                clients: count(self.clients),
                proxies: count(self.proxies),
                codes: codes(&self.codes),
                timed: self.timed.as_ref().map(timed).unwrap_or_default(),
            },
            marks: self.marks,
        })
    }
}

fn sketch(bytes: &[u8]) -> sqlx::Result<Sketch> {
    Sketch::from_bytes(bytes)
        .ok_or_else(|| sqlx::Error::Decode("a fleet's sketch is damaged".into()))
}

fn codes_text(codes: &BTreeMap<u16, u64>) -> Vec<u8> {
    serde_json::to_vec(codes).unwrap_or_else(|_| b"{}".to_vec())
}

fn codes(value: &serde_json::Value) -> BTreeMap<u16, u64> {
    let pairs = value.as_object().into_iter().flatten();
    pairs.filter_map(|(code, count)| Some((code.parse().ok()?, count.as_u64()?))).collect()
}

fn timed(value: &serde_json::Value) -> BTreeMap<u32, Timed> {
    let pairs = value.as_object().into_iter().flatten();
    let one = |(bound, counts): (&String, &serde_json::Value)| {
        let (judged, slow) = (counts.get(0)?.as_u64()?, counts.get(1)?.as_u64()?);
        Some((bound.parse().ok()?, Timed { judged, slow }))
    };
    pairs.filter_map(one).collect()
}

/// Counts never exceed what an i64 holds: they are counts of lines and bytes.
fn big(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn count(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or_default()
}
