//! Monitors that depend on others, and notices that wait for these.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{decision::State, ids::MonitorKey};

/// Names of the parents that are down now. One that is paused, deleted or unknown is not.
pub async fn down(conn: &mut PgConnection, monitor: MonitorKey) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        "select p.name from monitor m
                cross join lateral jsonb_array_elements_text(m.depends_on) as d(uid)
                join monitor p on p.uid = d.uid::uuid and p.deleted_at is null
                join monitor_live l on l.monitor_id = p.monitor_id
         where m.monitor_id = $1 and l.state = $2 order by p.name",
        monitor.0,
        State::Down.code()
    )
    .fetch_all(conn)
    .await
}

/// Holds the beginnings of an incident back that nobody has tried to send; answers whether there were any.
pub async fn hold(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
    why: &str,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update notice set held_for = $3
         where monitor_id = $1 and incident_id = $2 and settled_at is null and attempts = 0 and held_for is null
           and kind in ('opened', 'reopened', 'after_maintenance') and not fallback",
        monitor.0,
        incident,
        why
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Settles what was held back of an incident, and all that waits behind it: it is over, and nobody heard of it.
pub async fn drop_held(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update notice n set settled_at = $3, outcome = 'dropped',
             answer = 'over while it was held back' || coalesce(': ' || n.held_for, ''), held_for = null
         where n.monitor_id = $1 and n.incident_id = $2 and n.settled_at is null
           and exists (select from notice h where h.monitor_id = $1 and h.incident_id = $2
                       and h.channel_id = n.channel_id and h.notice_no <= n.notice_no and h.held_for is not null)",
        monitor.0,
        incident,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// An incident of which something is held back.
#[derive(Debug, Clone)]
pub struct Held {
    pub monitor: MonitorKey,
    pub incident: Uuid,
    /// Since when every parent is something else than down; none while one is down.
    pub free_since: Option<Timestamp>,
    /// How long a vote of the monitor counts.
    pub stale_after_s: i64,
    /// Names of its parents.
    pub parents: Vec<String>,
}

/// Everything that is held back, the oldest first.
pub async fn held(conn: &mut PgConnection) -> sqlx::Result<Vec<Held>> {
    sqlx::query!(
        r#"select h.monitor_id as "monitor_id!", h.incident_id as "incident_id!",
                  (2 * m.interval_s + m.timeout_ms / 1000 + 20)::int8 as "stale_after_s!",
                  coalesce(p.any_down, false) as "down!", p.since, coalesce(p.names, '{}') as "names!"
           from (select distinct monitor_id, incident_id from notice
                 where held_for is not null and settled_at is null) as h
                join monitor m on m.monitor_id = h.monitor_id
                left join lateral (
                    select bool_or(l.state = $1) as any_down, max(l.since_at) as since, array_agg(p.name order by p.name) as names
                    from jsonb_array_elements_text(m.depends_on) as d(uid)
                         join monitor p on p.uid = d.uid::uuid and p.deleted_at is null
                         join monitor_live l on l.monitor_id = p.monitor_id) as p on true
           order by h.incident_id"#,
        State::Down.code()
    )
    .map(|r| Held {
        monitor: MonitorKey(r.monitor_id),
        incident: r.incident_id,
        free_since: (!r.down)
            .then(|| r.since.map_or(Timestamp::UNIX_EPOCH, |at| at.to_jiff())),
        stale_after_s: r.stale_after_s,
        parents: r.names,
    })
    .fetch_all(conn)
    .await
}

/// Lets what was held back of an incident be sent now.
pub async fn release(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update notice set held_for = null, due_at = greatest(due_at, $3)
         where monitor_id = $1 and incident_id = $2 and held_for is not null and settled_at is null",
        monitor.0,
        incident,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Everything that these depend on, through any number of steps, themselves included. Under a lock until the end
/// of the transaction, so that two edits cannot close a circle together.
pub async fn above(conn: &mut PgConnection, monitors: &[Uuid]) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query!("select pg_advisory_xact_lock(hashtext('quorate depends_on'), 0)")
        .fetch_one(&mut *conn)
        .await?;
    sqlx::query_scalar!(
        r#"with recursive above as (
               select unnest($1::uuid[]) as uid
               union
               select d.uid::uuid from above a join monitor m on m.uid = a.uid and m.deleted_at is null
                      cross join lateral jsonb_array_elements_text(m.depends_on) as d(uid)
           )
           select uid as "uid!" from above"#,
        monitors
    )
    .fetch_all(conn)
    .await
}
