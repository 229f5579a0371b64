//! The live row of a monitor: its lock, its state, all its votes.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::ids::MonitorKey;

/// As read under the lock.
#[derive(Debug)]
pub struct LiveRow {
    pub monitor: MonitorKey,
    /// Compact JSON of `domain::decision::Live`.
    pub live: String,
    pub config_rev: i32,
    pub wake_at: Option<Timestamp>,
}

/// As written back.
#[derive(Debug)]
pub struct LiveSave {
    pub monitor: MonitorKey,
    pub live: String,
    pub state: i16,
    pub since_at: Timestamp,
    pub wake_at: Option<Timestamp>,
}

/// A new monitor's row.
pub async fn insert(conn: &mut PgConnection, row: &LiveSave) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into monitor_live (monitor_id, live, state, since_at, wake_at) values ($1, $2, $3, $4, $5)",
        row.monitor.0,
        row.live,
        row.state,
        row.since_at.to_sqlx(),
        row.wake_at.map(|t| t.to_sqlx()) as _,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes the monitors' locks in id order. State must be read by a statement after this one: a statement
/// that locks and reads sees stale rows after it waited.
pub async fn lock(conn: &mut PgConnection, monitors: &[i32]) -> sqlx::Result<()> {
    sqlx::query!(
        "select count(*) from (
             select from monitor_live where monitor_id = any($1) order by monitor_id for no key update
         ) as locked",
        monitors
    )
    .fetch_one(conn)
    .await?;
    Ok(())
}

/// Locks up to `limit` monitors whose time has come and that nobody else holds; answers their keys.
pub async fn lock_due(
    conn: &mut PgConnection,
    now: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<i32>> {
    sqlx::query_scalar!(
        "select monitor_id from monitor_live where wake_at <= $1 order by monitor_id limit $2
         for no key update skip locked",
        now.to_sqlx(),
        limit
    )
    .fetch_all(conn)
    .await
}

/// Reads rows that this transaction has locked.
pub async fn read(conn: &mut PgConnection, monitors: &[i32]) -> sqlx::Result<Vec<LiveRow>> {
    sqlx::query!(
        "select monitor_id, live, config_rev, wake_at from monitor_live where monitor_id = any($1) order by monitor_id",
        monitors
    )
    .map(|r| LiveRow {
        monitor: MonitorKey(r.monitor_id),
        live: r.live,
        config_rev: r.config_rev,
        wake_at: r.wake_at.map(|t| t.to_jiff()),
    })
    .fetch_all(conn)
    .await
}

/// Writes all rows of a batch in one statement.
pub async fn save(conn: &mut PgConnection, rows: &[LiveSave]) -> sqlx::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let monitor: Vec<i32> = rows.iter().map(|r| r.monitor.0).collect();
    let live: Vec<&str> = rows.iter().map(|r| r.live.as_str()).collect();
    let state: Vec<i16> = rows.iter().map(|r| r.state).collect();
    let since: Vec<_> = rows.iter().map(|r| r.since_at.to_sqlx()).collect();
    let wake: Vec<_> = rows.iter().map(|r| r.wake_at.map(|t| t.to_sqlx())).collect();
    sqlx::query!(
        "update monitor_live m set live = u.live, state = u.state, since_at = u.since_at, wake_at = u.wake_at
         from unnest($1::int4[], $2::text[], $3::int2[], $4::timestamptz[], $5::timestamptz[])
              as u(monitor_id, live, state, since_at, wake_at)
         where m.monitor_id = u.monitor_id",
        &monitor,
        &live as _,
        &state,
        &since as _,
        &wake as _,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Wakes every monitor that is not up (a window of maintenance was cut short). Takes their locks in id
/// order.
pub async fn wake_troubled(conn: &mut PgConnection, now: Timestamp, up: i16) -> sqlx::Result<()> {
    sqlx::query!(
        "with troubled as (
             select monitor_id from monitor_live where state <> $2 and (wake_at is null or wake_at > $1)
             order by monitor_id for no key update
         )
         update monitor_live m set wake_at = $1 from troubled t where m.monitor_id = t.monitor_id",
        now.to_sqlx(),
        up
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Removes a deleted monitor's row.
pub async fn delete(conn: &mut PgConnection, monitor: MonitorKey) -> sqlx::Result<()> {
    sqlx::query!("delete from monitor_live where monitor_id = $1", monitor.0).execute(conn).await?;
    Ok(())
}
