//! The outbox: notices between the decision and their delivery.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

pub use super::backlog::{Backlog, backlog};
use crate::domain::{
    ids::MonitorKey,
    notice::{FailoverNotice, Notice, NoticeKind, Told},
};

/// One message to one channel, as triage writes it. `payload.kind` is the kind as this channel hears it.
#[derive(Debug, Clone)]
pub struct NewNotice {
    pub notice: Uuid,
    /// 0 for incidents that are about no monitor.
    pub monitor: MonitorKey,
    pub incident: Uuid,
    pub channel: Uuid,
    pub payload: Notice,
    pub created_at: Timestamp,
}

/// Queues notices in the transaction that decides, and wakes the senders at its commit. The order of
/// the slice is the order in which one channel hears of one incident.
pub async fn insert(conn: &mut PgConnection, notices: &[NewNotice]) -> sqlx::Result<()> {
    for new in notices {
        write(conn, new, None).await?;
    }
    if notices.is_empty() { Ok(()) } else { super::wake::notify(conn, "notice").await }
}

/// The same for steps and reminders: of one incident a channel is never told twice under one key.
pub async fn insert_once(
    conn: &mut PgConnection,
    notices: &[(NewNotice, Option<String>)],
) -> sqlx::Result<()> {
    for (new, once) in notices {
        write(conn, new, once.as_deref()).await?;
    }
    if notices.is_empty() { Ok(()) } else { super::wake::notify(conn, "notice").await }
}

async fn write(conn: &mut PgConnection, new: &NewNotice, once: Option<&str>) -> sqlx::Result<()> {
    let payload = super::json::of(&new.payload)?;
    sqlx::query!(
        "insert into notice
             (monitor_id, notice_id, incident_id, channel_id, kind, severity, payload, created_at, due_at, once)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)
         on conflict (monitor_id, incident_id, channel_id, once) where once is not null do nothing",
            new.monitor.0,
            new.notice,
            new.incident,
            new.channel,
            new.payload.kind.word(),
            new.payload.severity.name(),
            payload,
            new.created_at.to_sqlx(),
            once,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Queues a change of a failover group for each channel; of one group a channel hears in order.
pub async fn insert_failover(
    conn: &mut PgConnection,
    channels: &[Uuid],
    notice: &FailoverNotice,
) -> sqlx::Result<()> {
    let payload = super::json::of(notice)?;
    for channel in channels {
        sqlx::query!(
            "insert into notice (monitor_id, notice_id, incident_id, channel_id, kind, severity, payload, created_at, due_at)
             select 0, $1, $2, channel_id, $4, 'degraded', $5, $6, $6 from channel where channel_id = $3 and enabled",
            super::id_at(notice.decided_at),
            notice.group,
            channel,
            FailoverNotice::KIND,
            payload,
            notice.decided_at.to_sqlx(),
        )
        .execute(&mut *conn)
        .await?;
    }
    if channels.is_empty() { Ok(()) } else { super::wake::notify(conn, "notice").await }
}

/// Queues a report that was made, under its own id where an incident's would stand. What it says is read when
/// it is sent.
pub async fn insert_report(
    conn: &mut PgConnection,
    report: Uuid,
    channel: Uuid,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into notice (monitor_id, notice_id, incident_id, channel_id, kind, severity, payload, created_at, due_at)
         values (0, $1, $1, $2, $3, 'degraded', '{}', $4, $4)",
        report,
        channel,
        REPORT,
        now.to_sqlx(),
    )
    .execute(&mut *conn)
    .await?;
    super::wake::notify(conn, "notice").await
}

/// Kind of a row that carries a report.
pub const REPORT: &str = "report";

/// Which channels know of the incident, by the last thing queued for each. What was dropped unsent or given up
/// was never heard.
pub async fn told(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
) -> sqlx::Result<Vec<Told>> {
    let rows = sqlx::query!(
        "select distinct on (channel_id) channel_id, kind from notice
         where monitor_id = $1 and incident_id = $2
           and (coalesce(outcome, '') not in ('dropped', 'failed') or cardinality(reached) > 0)
         order by channel_id, notice_no desc",
        monitor.0,
        incident
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Told {
            channel: row.channel_id,
            open: !NoticeKind::from_word(&row.kind).is_some_and(NoticeKind::ends),
        })
        .collect())
}

/// A notice under lease, with what is needed to send it.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub monitor: MonitorKey,
    pub notice_no: i64,
    /// The same on every attempt.
    pub notice: Uuid,
    pub incident: Uuid,
    pub channel: Uuid,
    pub kind: String,
    pub payload: serde_json::Value,
    pub created_at: Timestamp,
    /// This attempt's number, from 1.
    pub attempts: i32,
    /// An earlier attempt ended without a word: its process died, and nobody knows what arrived.
    pub uncertain: bool,
    /// Recipients within the channel that have it already.
    pub reached: Vec<String>,
    /// The lease's own id: only with it can the attempt be settled.
    pub owner: Uuid,
}

/// Takes the next notice that is due: first attempts before repeats, oldest first. Passed over are
/// rows with an earlier unsettled row of the same incident and channel, rows that somebody else is
/// claiming or sending, and channels with `per_channel` sendings already under way (a slow receiver
/// must not take all workers). The caller commits before it sends.
pub async fn claim(
    conn: &mut PgConnection,
    now: Timestamp,
    lease_until: Timestamp,
    owner: Uuid,
    per_channel: i64,
) -> sqlx::Result<Option<Claimed>> {
    sqlx::query!(
        r#"with busy as (
               select channel_id from notice where lease_until > $1
               group by channel_id having count(*) >= $4
           ), next as (
               select n.monitor_id, n.notice_no, n.lease_owner from notice n
               where n.settled_at is null and n.due_at <= $1
                 and (n.lease_until is null or n.lease_until <= $1) and n.held_for is null
                 and n.channel_id not in (select channel_id from busy)
                 and not exists (
                     select 1 from notice e
                     where e.monitor_id = n.monitor_id and e.incident_id = n.incident_id
                       and e.channel_id = n.channel_id and e.notice_no < n.notice_no
                       and e.settled_at is null)
               order by n.attempts > 0, n.due_at, n.notice_no
               limit 1
               for update of n skip locked
           )
           update notice n
           set lease_until = $2, lease_owner = $3, attempts = n.attempts + 1, attempted_at = $1
           from next where n.monitor_id = next.monitor_id and n.notice_no = next.notice_no
           returning n.monitor_id, n.notice_no, n.notice_id, n.incident_id, n.channel_id, n.kind, n.payload,
                     n.created_at, n.attempts, n.reached, next.lease_owner is not null as "uncertain!""#,
        now.to_sqlx(),
        lease_until.to_sqlx(),
        owner,
        per_channel,
    )
    .map(|row| Claimed {
        monitor: MonitorKey(row.monitor_id),
        notice_no: row.notice_no,
        notice: row.notice_id,
        incident: row.incident_id,
        channel: row.channel_id,
        kind: row.kind,
        payload: row.payload,
        created_at: row.created_at.to_jiff(),
        attempts: row.attempts,
        uncertain: row.uncertain,
        reached: row.reached,
        owner,
    })
    .fetch_optional(conn)
    .await
}

/// What waits behind a claimed notice for the same incident and channel, in order: number and kind.
/// Locked, so that nobody settles it while it is decided what becomes of it.
pub async fn waiting_behind(
    conn: &mut PgConnection,
    claimed: &Claimed,
) -> sqlx::Result<Vec<(i64, String)>> {
    let rows = sqlx::query!(
        "select notice_no, kind from notice
         where monitor_id = $1 and incident_id = $2 and channel_id = $3 and notice_no > $4 and settled_at is null
         order by notice_no for no key update",
        claimed.monitor.0,
        claimed.incident,
        claimed.channel,
        claimed.notice_no,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.notice_no, row.kind)).collect())
}

/// Settles unsent rows of the claimed one's incident and channel, from it up to `through`, as
/// `collapsed` or `dropped`. Belongs into the claim's transaction, where nobody else can have them.
pub async fn settle_unsent(
    conn: &mut PgConnection,
    claimed: &Claimed,
    through: i64,
    outcome: &str,
    answer: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update notice set settled_at = $6, outcome = $7, answer = $8, lease_until = null, lease_owner = null
         where monitor_id = $1 and incident_id = $2 and channel_id = $3 and notice_no between $4 and $5
           and settled_at is null",
        claimed.monitor.0,
        claimed.incident,
        claimed.channel,
        claimed.notice_no,
        through,
        now.to_sqlx(),
        outcome,
        answer,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Claims the end that stands for the whole incident, in the claim's transaction, and marks its
/// payload as collapsed.
pub async fn claim_end(
    conn: &mut PgConnection,
    from: &Claimed,
    notice_no: i64,
    now: Timestamp,
    lease_until: Timestamp,
) -> sqlx::Result<Claimed> {
    sqlx::query!(
        r#"update notice
           set lease_until = $3, lease_owner = $4, attempts = attempts + 1, attempted_at = $5,
               payload = payload || '{"collapsed":true}'
           where monitor_id = $1 and notice_no = $2
           returning notice_id, kind, payload, created_at, attempts"#,
        from.monitor.0,
        notice_no,
        lease_until.to_sqlx(),
        from.owner,
        now.to_sqlx(),
    )
    .map(|row| Claimed {
        notice_no,
        notice: row.notice_id,
        kind: row.kind,
        payload: row.payload,
        created_at: row.created_at.to_jiff(),
        attempts: row.attempts,
        uncertain: false,
        ..from.clone()
    })
    .fetch_one(conn)
    .await
}

/// Ends a claimed notice: `delivered`, `failed` or `dropped`. False when the lease is not ours any more:
/// somebody else took it over, and what they find out counts.
pub async fn settle(
    conn: &mut PgConnection,
    claimed: &Claimed,
    outcome: &str,
    answer: &str,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update notice set settled_at = $4, outcome = $5, answer = $6, lease_until = null, lease_owner = null
         where monitor_id = $1 and notice_no = $2 and lease_owner = $3 and settled_at is null",
        claimed.monitor.0,
        claimed.notice_no,
        claimed.owner,
        now.to_sqlx(),
        outcome,
        answer,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Gives a claimed notice back for another attempt at `due_at`, for those who are not in `reached`.
/// False as with [`settle`].
pub async fn reschedule(
    conn: &mut PgConnection,
    claimed: &Claimed,
    due_at: Timestamp,
    answer: &str,
    reached: &[String],
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update notice set due_at = $4, answer = $5, reached = $6, lease_until = null, lease_owner = null
         where monitor_id = $1 and notice_no = $2 and lease_owner = $3 and settled_at is null",
        claimed.monitor.0,
        claimed.notice_no,
        claimed.owner,
        due_at.to_sqlx(),
        answer,
        reached,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Settles everything a channel was still to be sent, because it was switched off or deleted. What is
/// being claimed, sent or settled at this moment is left to who does it; a repeat of it is dropped by the
/// next claim.
pub async fn drop_unsent(
    conn: &mut PgConnection,
    channel: Uuid,
    reason: &str,
    now: Timestamp,
) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "with unsent as (
             select monitor_id, notice_no from notice
             where channel_id = $1 and settled_at is null and (lease_until is null or lease_until <= $3)
             for no key update skip locked
         )
         update notice n
         set settled_at = $3, outcome = 'dropped', answer = $2, lease_owner = null, lease_until = null
         from unsent u where n.monitor_id = u.monitor_id and n.notice_no = u.notice_no",
        channel,
        reason,
        now.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// What became of a notice, for the incident's page.
#[derive(Debug, Clone)]
pub struct NoticeRow {
    pub notice: Uuid,
    pub channel: Uuid,
    pub channel_name: String,
    pub channel_kind: String,
    pub kind: String,
    pub severity: String,
    pub created_at: Timestamp,
    pub attempts: i32,
    pub attempted_at: Option<Timestamp>,
    /// When it is tried next; none once it is settled, and while it is held back.
    pub due_at: Option<Timestamp>,
    pub settled_at: Option<Timestamp>,
    /// `delivered failed collapsed dropped grouped`; none while it is still being tried.
    pub outcome: Option<String>,
    /// Why it is not even tried yet.
    pub held_for: Option<String>,
    /// It went to the fallback channel, because no other channel took it.
    pub fallback: bool,
    pub answer: Option<String>,
}

/// An incident's notices in the order they were queued.
pub async fn of_incident(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
) -> sqlx::Result<Vec<NoticeRow>> {
    sqlx::query!(
        "select n.notice_id, n.channel_id, c.name, c.kind as channel_kind, n.kind, n.severity, n.created_at,
                n.attempts, n.attempted_at, n.due_at, n.settled_at, n.outcome, n.answer, n.held_for, n.fallback
         from notice n join channel c using (channel_id)
         where n.monitor_id = $1 and n.incident_id = $2 order by n.notice_no",
        monitor.0,
        incident
    )
    .map(|row| NoticeRow {
        notice: row.notice_id,
        channel: row.channel_id,
        channel_name: row.name,
        channel_kind: row.channel_kind,
        kind: row.kind,
        severity: row.severity,
        created_at: row.created_at.to_jiff(),
        attempts: row.attempts,
        attempted_at: row.attempted_at.map(|t| t.to_jiff()),
        due_at: (row.settled_at.is_none() && row.held_for.is_none()).then(|| row.due_at.to_jiff()),
        settled_at: row.settled_at.map(|t| t.to_jiff()),
        outcome: row.outcome,
        held_for: row.held_for,
        fallback: row.fallback,
        answer: row.answer,
    })
    .fetch_all(conn)
    .await
}
