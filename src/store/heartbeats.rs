//! Jobs that call us: the keys of their addresses, and their calls.

use jiff::{Timestamp, civil::Date};
use jiff_sqlx::ToSqlx;
use sqlx::{AssertSqlSafe, PgConnection};

use super::seal::Place;
use crate::domain::ids::MonitorKey;

/// Where the key of a monitor's address is sealed; `row` is the monitor's uid as text.
pub fn place(row: &str) -> Place<'_> {
    Place { table: "heartbeat", column: "sealed", row }
}

/// Gives a monitor an address, in place of the one that it had.
pub async fn put(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    hash: &[u8; 32],
    sealed: &[u8],
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into heartbeat (monitor_id, token_hash, sealed, rotated_at) values ($1, $2, $3, $4)
         on conflict (monitor_id) do update
         set token_hash = excluded.token_hash, sealed = excluded.sealed, rotated_at = excluded.rotated_at",
        monitor.0,
        hash.as_slice(),
        sealed,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Its address opens nothing any more.
pub async fn forget(conn: &mut PgConnection, monitor: MonitorKey) -> sqlx::Result<()> {
    sqlx::query!("delete from heartbeat where monitor_id = $1", monitor.0).execute(conn).await?;
    Ok(())
}

/// The monitor that an address belongs to.
pub async fn owner(conn: &mut PgConnection, hash: &[u8; 32]) -> sqlx::Result<Option<MonitorKey>> {
    let found = sqlx::query_scalar!(
        "select monitor_id from heartbeat where token_hash = $1",
        hash.as_slice()
    )
    .fetch_optional(conn)
    .await?;
    Ok(found.map(MonitorKey))
}

/// The sealed key of a monitor's address, and since when it has been this one.
pub async fn sealed(
    conn: &mut PgConnection,
    monitor: MonitorKey,
) -> sqlx::Result<Option<(Vec<u8>, Timestamp)>> {
    sqlx::query!("select sealed, rotated_at from heartbeat where monitor_id = $1", monitor.0)
        .map(|r| (r.sealed, r.rotated_at.to_jiff()))
        .fetch_optional(conn)
        .await
}

/// One call as it is kept.
#[derive(Debug, Clone)]
pub struct CallRow {
    pub at: Timestamp,
    /// Number of `domain::decision::heartbeat::CallKind`.
    pub kind: i16,
    pub exit_code: Option<i16>,
    /// From the start of the run to its end.
    pub duration_ms: Option<i64>,
    pub counted: bool,
    pub source: String,
    pub agent: Option<String>,
    pub evidence: Option<String>,
}

/// Keeps a call. Its day's partition must exist.
pub async fn insert(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    row: &CallRow,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into heartbeat_call (called_at, duration_ms, monitor_id, kind, exit_code, counted, source, agent, evidence)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        row.at.to_sqlx(),
        row.duration_ms,
        monitor.0,
        row.kind,
        row.exit_code,
        row.counted,
        row.source,
        row.agent,
        row.evidence
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Calls within `[from, to)`, the latest first. `before` is where the page before ended.
pub async fn calls(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    (from, to): (Timestamp, Timestamp),
    kind: Option<i16>,
    before: Option<Timestamp>,
    limit: i64,
) -> sqlx::Result<Vec<CallRow>> {
    sqlx::query!(
        "select called_at, kind, exit_code, duration_ms, counted, source, agent, evidence from heartbeat_call
         where monitor_id = $1 and called_at >= $2 and called_at < $3 and ($4::int2 is null or kind = $4)
           and ($5::timestamptz is null or called_at < $5)
         order by called_at desc limit $6",
        monitor.0,
        from.to_sqlx(),
        to.to_sqlx(),
        kind,
        before.map(|at| at.to_sqlx()) as _,
        limit
    )
    .map(|r| CallRow {
        at: r.called_at.to_jiff(),
        kind: r.kind,
        exit_code: r.exit_code,
        duration_ms: r.duration_ms,
        counted: r.counted,
        source: r.source,
        agent: r.agent,
        evidence: r.evidence,
    })
    .fetch_all(conn)
    .await
}

/// Makes sure that the day's partition exists (UTC days).
pub async fn ensure_partition(conn: &mut PgConnection, day: Date) -> sqlx::Result<()> {
    let (name, next) = (partition(day), day.tomorrow().unwrap_or(day));
    sqlx::raw_sql(AssertSqlSafe(format!(
        "create table if not exists {name} partition of heartbeat_call for values from ('{day} 00:00:00+00') to ('{next} 00:00:00+00')"
    )))
    .execute(conn)
    .await?;
    Ok(())
}

/// Days for which calls can be kept, oldest first.
pub async fn partition_days(conn: &mut PgConnection) -> sqlx::Result<Vec<Date>> {
    let names = sqlx::query_scalar!(
        r#"select c.relname::text as "name!" from pg_inherits i join pg_class c on c.oid = i.inhrelid
           where i.inhparent = 'heartbeat_call'::regclass order by 1"#
    )
    .fetch_all(conn)
    .await?;
    let day = |name: &String| Date::strptime("%Y%m%d", name.strip_prefix("heartbeat_call_")?).ok();
    Ok(names.iter().filter_map(day).collect())
}

/// Drops a day.
pub async fn drop_partition(conn: &mut PgConnection, day: Date) -> sqlx::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(format!("drop table if exists {}", partition(day))))
        .execute(conn)
        .await?;
    Ok(())
}

fn partition(day: Date) -> String {
    format!("heartbeat_call_{}", day.strftime("%Y%m%d"))
}
