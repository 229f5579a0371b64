//! Sums of requests by quarter hour, pool and instance: what stays of windows for 400 days.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use super::{
    copy::Copy,
    fleet_cells::{CellRow, PoolRow, Raw, RawPool, put_cell, put_pool},
};
use crate::domain::ids::FleetKey;

const COPY_QUARTER: &str = "copy fleet_quarter (fleet_id, at, pool, instance, attempts, unknown, clients, proxies, \
     fault_status, fault_connect, fault_timeout, fault_reset, rescued, bytes, probes_passed, probes_failed, \
     first_us, last_us, codes, latency, sizes) from stdin (format binary)";
const COPY_POOL_QUARTER: &str = "copy fleet_pool_quarter (fleet_id, at, pool, requests, failed, empty, redispatched, clients, \
     proxies, codes, timed) from stdin (format binary)";

/// Quarter hours that begin in [from, to).
pub async fn quarters(
    conn: &mut PgConnection,
    fleet: FleetKey,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<CellRow>> {
    sqlx::query_as!(
        Raw,
        r#"select at, 2::int2 as "stage!", pool, instance, '' as "route!", attempts, unknown, clients, proxies, fault_status,
                fault_connect, fault_timeout, fault_reset, rescued, bytes, probes_passed, probes_failed, first_us,
                last_us, codes, latency, sizes, null::text as source
         from fleet_quarter where fleet_id = $1 and at >= $2 and at < $3"#,
        fleet.0,
        from.to_sqlx(),
        to.to_sqlx()
    )
    .try_map(Raw::read)
    .fetch_all(conn)
    .await
}

pub async fn pool_quarters(
    conn: &mut PgConnection,
    fleet: FleetKey,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<PoolRow>> {
    sqlx::query_as!(
        RawPool,
        r#"select at, 2::int2 as "stage!", pool, requests, failed, empty, redispatched, clients, proxies, codes, timed,
                null::jsonb as marks
         from fleet_pool_quarter where fleet_id = $1 and at >= $2 and at < $3"#,
        fleet.0,
        from.to_sqlx(),
        to.to_sqlx()
    )
    .try_map(RawPool::read)
    .fetch_all(conn)
    .await
}

/// Replaces the quarter hours that begin at these instants; the caller holds the fleet's lock and has
/// read what was there.
pub async fn replace_quarters(
    conn: &mut PgConnection,
    fleet: FleetKey,
    at: &[Timestamp],
    cells: &[CellRow],
    pools: &[PoolRow],
) -> sqlx::Result<()> {
    let at: Vec<_> = at.iter().map(|at| at.to_sqlx()).collect();
    sqlx::query!(
        "delete from fleet_quarter where fleet_id = $1 and at = any($2::timestamptz[])",
        fleet.0,
        &at as _
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "delete from fleet_pool_quarter where fleet_id = $1 and at = any($2::timestamptz[])",
        fleet.0,
        &at as _
    )
    .execute(&mut *conn)
    .await?;
    if !cells.is_empty() {
        let mut copy = Copy::new(21, cells.len() * 400);
        for row in cells {
            copy.row();
            copy.int4(Some(fleet.0));
            copy.instant(row.at);
            copy.bytes(row.pool.as_bytes());
            copy.bytes(row.instance.as_bytes());
            put_cell(&mut copy, &row.cell);
        }
        copy.send(conn, COPY_QUARTER).await?;
    }
    if !pools.is_empty() {
        let mut copy = Copy::new(11, pools.len() * 150);
        for row in pools {
            copy.row();
            copy.int4(Some(fleet.0));
            copy.instant(row.at);
            copy.bytes(row.pool.as_bytes());
            put_pool(&mut copy, &row.cell);
        }
        copy.send(conn, COPY_POOL_QUARTER).await?;
    }
    Ok(())
}

/// Deletes quarter hours before an instant, of all fleets.
pub async fn forget_quarters(conn: &mut PgConnection, before: Timestamp) -> sqlx::Result<()> {
    sqlx::query!("delete from fleet_quarter where at < $1", before.to_sqlx())
        .execute(&mut *conn)
        .await?;
    sqlx::query!("delete from fleet_pool_quarter where at < $1", before.to_sqlx())
        .execute(conn)
        .await?;
    Ok(())
}
