//! What upkeep needs: claims, the sweep's memory, retention.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::ids::MonitorKey;

/// Claims a chore for this transaction; false when another coordinator is at it.
pub async fn claim(conn: &mut PgConnection, chore: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select pg_try_advisory_xact_lock(hashtext('quorate chore'), hashtext($1)) as "got!""#,
        chore
    )
    .fetch_one(conn)
    .await
}

/// When a coordinator swept last, and until when deadlines are lenient.
#[derive(Debug, Clone, Copy)]
pub struct SweepRow {
    pub sweep_at: Timestamp,
    pub grace_until: Option<Timestamp>,
    pub grace_set_at: Option<Timestamp>,
}

/// Locks and reads the sweep's memory.
pub async fn sweep(conn: &mut PgConnection) -> sqlx::Result<Option<SweepRow>> {
    sqlx::query!("select sweep_at, grace_until, grace_set_at from sweep for no key update")
        .map(|r| SweepRow {
            sweep_at: r.sweep_at.to_jiff(),
            grace_until: r.grace_until.map(|t| t.to_jiff()),
            grace_set_at: r.grace_set_at.map(|t| t.to_jiff()),
        })
        .fetch_optional(conn)
        .await
}

/// Writes the sweep's memory; time never goes back.
pub async fn set_sweep(conn: &mut PgConnection, row: SweepRow) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into sweep (sweep_at, grace_until, grace_set_at) values ($1, $2, $3)
         on conflict (one) do update set sweep_at = greatest(sweep.sweep_at, excluded.sweep_at),
                                         grace_until = excluded.grace_until,
                                         grace_set_at = excluded.grace_set_at",
        row.sweep_at.to_sqlx(),
        row.grace_until.map(|t| t.to_sqlx()) as _,
        row.grace_set_at.map(|t| t.to_sqlx()) as _
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A stretch in which no coordinator swept.
pub async fn add_not_running(
    conn: &mut PgConnection,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into not_running (from_at, to_at) values ($1, $2) on conflict (from_at) do nothing",
        from.to_sqlx(),
        to.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Stretches that touch [from, to), oldest first.
pub async fn not_running(
    conn: &mut PgConnection,
    from: Timestamp,
    to: Timestamp,
) -> sqlx::Result<Vec<(Timestamp, Timestamp)>> {
    sqlx::query!(
        "select from_at, to_at from not_running where from_at < $2 and to_at > $1 order by from_at",
        from.to_sqlx(),
        to.to_sqlx()
    )
    .map(|r| (r.from_at.to_jiff(), r.to_at.to_jiff()))
    .fetch_all(conn)
    .await
}

/// The longest time that a vote of any enabled monitor stays fresh, in seconds: twice the interval, plus
/// time-out, plus 20.
pub async fn longest_stale_after(conn: &mut PgConnection) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select coalesce(max(2 * interval_s + timeout_ms / 1000 + 20), 0)::int8 as "s!" from monitor
           where enabled and deleted_at is null"#
    )
    .fetch_one(conn)
    .await
}

/// Widens the span of late reports that a monitor's refold must look at.
pub async fn mark_refold(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    from: Timestamp,
    to: Timestamp,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into refold_due (monitor_id, from_at, to_at, marked_at) values ($1, $2, $3, $4)
         on conflict (monitor_id) do update set from_at = least(refold_due.from_at, excluded.from_at),
                                                to_at = greatest(refold_due.to_at, excluded.to_at),
                                                marked_at = excluded.marked_at",
        monitor.0,
        from.to_sqlx(),
        to.to_sqlx(),
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A monitor on the list of refolds whose last late report came before `quiet_since`.
pub async fn next_refold(
    conn: &mut PgConnection,
    quiet_since: Timestamp,
) -> sqlx::Result<Option<MonitorKey>> {
    let monitor = sqlx::query_scalar!(
        "select monitor_id from refold_due where marked_at <= $1 order by monitor_id limit 1",
        quiet_since.to_sqlx()
    )
    .fetch_optional(conn)
    .await?;
    Ok(monitor.map(MonitorKey))
}

/// Takes a monitor, whose lock the caller holds, off the list of refolds; none if another coordinator
/// did, or if a late report came after `quiet_since`.
pub async fn take_refold(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    quiet_since: Timestamp,
) -> sqlx::Result<Option<(Timestamp, Timestamp)>> {
    sqlx::query!(
        "delete from refold_due where monitor_id = $1 and marked_at <= $2 returning from_at, to_at",
        monitor.0,
        quiet_since.to_sqlx()
    )
    .map(|r| (r.from_at.to_jiff(), r.to_at.to_jiff()))
    .fetch_optional(conn)
    .await
}

/// Deletes what has had its time: one statement each.
pub async fn forget(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<()> {
    let now = now.to_sqlx();
    sqlx::query!("delete from session where expires_at < $1", now).execute(&mut *conn).await?;
    sqlx::query!(
        "delete from one_time_link where expires_at < $1::timestamptz - interval '30 days'",
        now
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "delete from probe_request where expires_at < $1::timestamptz - interval '1 hour'",
        now
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "delete from assignment_change where at < $1::timestamptz - interval '1 day'",
        now
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!("delete from decision where at < $1::timestamptz - interval '90 days'", now)
        .execute(&mut *conn)
        .await?;
    sqlx::query!(
        "delete from monitor_checkpoint where at < $1::timestamptz - interval '2 days'",
        now
    )
    .execute(&mut *conn)
    .await?;
    // Notices as long as the quarter hours, so that last year's incident still says who was told.
    sqlx::query!(
        "delete from notice n using incident i
         where i.monitor_id = n.monitor_id and i.incident_id = n.incident_id and n.settled_at is not null
           and i.resolved_at < $1::timestamptz - interval '400 days'",
        now
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!("delete from audit where at < $1::timestamptz - interval '2 years'", now)
        .execute(conn)
        .await?;
    Ok(())
}
