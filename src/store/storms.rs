//! Groups of incidents of monitors that went down together, and their notices.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::ids::MonitorKey;

/// Takes the lock under which groups are made, until the end of the transaction: after all row locks.
pub async fn lock(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtext('quorate storms'), 0)")
        .fetch_one(conn)
        .await?;
    Ok(())
}

/// A monitor that went down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRow {
    pub incident: Uuid,
    pub monitor: MonitorKey,
    pub down_at: Timestamp,
    pub over_at: Option<Timestamp>,
    pub keys: Vec<String>,
    /// The group and what it shares.
    pub group: Option<(Uuid, String)>,
}

/// Those that went down at or after `since`, and those of `incidents`, the first to go down first.
pub async fn members(
    conn: &mut PgConnection,
    since: Timestamp,
    incidents: &[Uuid],
) -> sqlx::Result<Vec<MemberRow>> {
    sqlx::query!(
        "select incident_id, monitor_id, down_at, over_at, keys, group_id, shared from storm_member
         where down_at >= $1 or incident_id = any($2) order by down_at, member_no",
        since.to_sqlx(),
        incidents
    )
    .map(|r| MemberRow {
        incident: r.incident_id,
        monitor: MonitorKey(r.monitor_id),
        down_at: r.down_at.to_jiff(),
        over_at: r.over_at.map(|t| t.to_jiff()),
        keys: r.keys,
        group: r.group_id.zip(r.shared),
    })
    .fetch_all(conn)
    .await
}

pub async fn save(conn: &mut PgConnection, row: &MemberRow) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into storm_member (incident_id, monitor_id, down_at, over_at, keys, group_id, shared)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (incident_id) do update
             set down_at = excluded.down_at, over_at = excluded.over_at, keys = excluded.keys,
                 group_id = excluded.group_id, shared = excluded.shared",
        row.incident,
        row.monitor.0,
        row.down_at.to_sqlx(),
        row.over_at.map(|t| t.to_sqlx()) as _,
        &row.keys,
        row.group.as_ref().map(|(group, _)| *group),
        row.group.as_ref().map(|(_, shared)| shared.clone()),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// An incident of a group, as its alert lists it.
#[derive(Debug, Clone)]
pub struct Listed {
    pub incident: Uuid,
    pub monitor: MonitorKey,
    pub uid: Uuid,
    pub name: String,
    pub severity: String,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub open: bool,
    pub shared: String,
}

/// All incidents of a group, the first to go down first.
pub async fn listed(conn: &mut PgConnection, group: Uuid) -> sqlx::Result<Vec<Listed>> {
    sqlx::query!(
        r#"select s.incident_id, s.monitor_id, m.uid, m.name, i.severity, i.started_at, i.ended_at,
                  i.resolved_at is null as "open!", s.shared as "shared!"
           from storm_member s join incident i on i.monitor_id = s.monitor_id and i.incident_id = s.incident_id
                join monitor m on m.monitor_id = s.monitor_id
           where s.group_id = $1 order by s.down_at, s.member_no"#,
        group
    )
    .map(|r| Listed {
        incident: r.incident_id,
        monitor: MonitorKey(r.monitor_id),
        uid: r.uid,
        name: r.name,
        severity: r.severity,
        started_at: r.started_at.to_jiff(),
        ended_at: r.ended_at.map(|t| t.to_jiff()),
        open: r.open,
        shared: r.shared,
    })
    .fetch_all(conn)
    .await
}

/// A notice of a group's incident that reached its channel, may yet, or was told with the group.
#[derive(Debug, Clone)]
pub struct NoticeRow {
    pub no: i64,
    pub incident: Uuid,
    pub channel: Uuid,
    pub kind: String,
    pub grouped: bool,
    /// Nobody has tried to send it.
    pub waiting: bool,
    /// When it was last tried, or queued.
    pub at: Timestamp,
}

/// Notices of a group's incidents, by channel, in the order in which they were queued. Left out are those that
/// never arrived, wait for a parent, or went to the fallback channel.
pub async fn notices(conn: &mut PgConnection, group: Uuid) -> sqlx::Result<Vec<NoticeRow>> {
    sqlx::query!(
        r#"select n.notice_no, n.incident_id, n.channel_id, n.kind, coalesce(n.outcome = 'grouped', false) as "grouped!",
                  (n.settled_at is null and n.attempts = 0) as "waiting!", coalesce(n.attempted_at, n.created_at) as "at!"
           from storm_member s join notice n on n.monitor_id = s.monitor_id and n.incident_id = s.incident_id
           where s.group_id = $1 and n.held_for is null and not n.fallback
             and (coalesce(n.outcome, '') not in ('dropped', 'failed') or cardinality(n.reached) > 0)
           order by n.channel_id, n.notice_no"#,
        group
    )
    .map(|r| NoticeRow {
        no: r.notice_no,
        incident: r.incident_id,
        channel: r.channel_id,
        kind: r.kind,
        grouped: r.grouped,
        waiting: r.waiting,
        at: r.at.to_jiff(),
    })
    .fetch_all(conn)
    .await
}

/// Settles notices that nobody has tried to send. What somebody begins to send meanwhile is left to them.
pub async fn settle(
    conn: &mut PgConnection,
    notices: &[i64],
    outcome: &str,
    answer: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "with waiting as (
             select monitor_id, notice_no from notice
             where notice_no = any($1) and settled_at is null and attempts = 0
             for no key update skip locked
         )
         update notice n set settled_at = $2, outcome = $3, answer = $4
         from waiting w where n.monitor_id = w.monitor_id and n.notice_no = w.notice_no",
        notices,
        now.to_sqlx(),
        outcome,
        answer
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Puts off the beginning of an incident, for channels that were told of one of `with` at or after `since` and
/// do not know yet whether it is a storm.
pub async fn put_off(
    conn: &mut PgConnection,
    (monitor, incident): (MonitorKey, Uuid),
    with: &[Uuid],
    since: Timestamp,
    until: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update notice n set due_at = $4, answer = 'waits whether more go down with it'
         where n.monitor_id = $1 and n.incident_id = $2 and n.settled_at is null and n.attempts = 0
           and n.kind in ('opened', 'reopened', 'after_maintenance') and n.held_for is null
           and exists (select from notice o where o.incident_id = any($3) and o.channel_id = n.channel_id
                       and o.kind in ('opened', 'reopened', 'after_maintenance') and o.created_at >= $5
                       and coalesce(o.outcome, '') not in ('dropped', 'failed', 'grouped') and o.held_for is null)",
        monitor.0,
        incident,
        with,
        until.to_sqlx(),
        since.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What the channel was told last of an incident.
pub async fn last_payload(
    conn: &mut PgConnection,
    (monitor, incident): (MonitorKey, Uuid),
    channel: Uuid,
) -> sqlx::Result<Option<serde_json::Value>> {
    sqlx::query_scalar!(
        "select payload from notice where monitor_id = $1 and incident_id = $2 and channel_id = $3
         order by notice_no desc limit 1",
        monitor.0,
        incident,
        channel
    )
    .fetch_optional(conn)
    .await
}

/// Puts the group into notices that nobody has tried to send; answers how many.
pub async fn rewrite(
    conn: &mut PgConnection,
    notices: &[i64],
    fields: &serde_json::Value,
) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "with waiting as (
             select monitor_id, notice_no from notice
             where notice_no = any($1) and settled_at is null and attempts = 0
             for no key update skip locked
         )
         update notice n set payload = n.payload || $2
         from waiting w where n.monitor_id = w.monitor_id and n.notice_no = w.notice_no",
        notices,
        fields
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Queues an update, which is due later than it is made.
pub async fn postpone(
    conn: &mut PgConnection,
    notice: Uuid,
    due_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!("update notice set due_at = $2 where notice_id = $1", notice, due_at.to_sqlx())
        .execute(conn)
        .await?;
    Ok(())
}

/// Makes notices due that wait for their time and that nobody has tried to send.
pub async fn bring_forward(
    conn: &mut PgConnection,
    notices: &[i64],
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "with waiting as (
             select monitor_id, notice_no from notice
             where notice_no = any($1) and settled_at is null and attempts = 0 and due_at > $2
             for no key update skip locked
         )
         update notice n set due_at = $2
         from waiting w where n.monitor_id = w.monitor_id and n.notice_no = w.notice_no",
        notices,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets what is over since before `before`, and what never got an incident's end.
pub async fn forget(conn: &mut PgConnection, before: Timestamp) -> sqlx::Result<()> {
    sqlx::query!("delete from storm_member where over_at < $1", before.to_sqlx())
        .execute(conn)
        .await?;
    Ok(())
}

/// What keys are made of: parents by name.
pub async fn parents(conn: &mut PgConnection, monitor: MonitorKey) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        "select p.name from monitor m
                cross join lateral jsonb_array_elements_text(m.depends_on) as d(uid)
                join monitor p on p.uid = d.uid::uuid and p.deleted_at is null
         where m.monitor_id = $1 order by p.name",
        monitor.0
    )
    .fetch_all(conn)
    .await
}
