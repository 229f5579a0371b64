//! Notices that no channel took, and those that went to the fallback channel instead.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use super::outbox::Claimed;
use crate::domain::{ids::MonitorKey, notice::NoticeKind};

/// An event of an incident that no channel took in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untaken {
    pub monitor: MonitorKey,
    pub incident: Uuid,
    /// When its notices were queued: one instant for all of them.
    pub created_at: Timestamp,
    /// None of its channels has worked since, so that delivery fails and not this one notice.
    pub fails_still: bool,
    /// Names of its channels.
    pub channels: Vec<String>,
}

/// Events that were queued between `since` and `until` and that no channel took, the oldest first. Left out is
/// what waits for something else, what was told with something else, and what the receiver needed no more. A
/// channel that switched itself off counts as one that does not take it; one that somebody switched off does not
/// count.
pub async fn untaken(
    conn: &mut PgConnection,
    since: Timestamp,
    until: Timestamp,
) -> sqlx::Result<Vec<Untaken>> {
    let kinds: Vec<String> = NoticeKind::ALL.iter().map(|kind| kind.word().to_owned()).collect();
    sqlx::query!(
        r#"select n.monitor_id, n.incident_id, n.created_at, array_agg(distinct c.name order by c.name) as "channels!",
                  bool_and(c.last_success_at is null or c.last_success_at <= n.created_at) as "fails_still!"
           from notice n join channel c using (channel_id)
           where n.outcome is distinct from 'delivered' and n.created_at > $1 and n.created_at <= $2
             and n.kind = any($3) and not n.fallback and n.held_for is null
             and c.deleted_at is null and (c.enabled or c.disabled_reason is not null)
             and (n.outcome = 'failed'
                  or (n.outcome is null and (n.attempts > 0 or n.due_at <= $2 or not c.enabled))
                  or (n.outcome = 'dropped' and not c.enabled))
             and not exists (
                 select from notice d where d.incident_id = n.incident_id and d.created_at = n.created_at
                   and not d.fallback
                   and (d.outcome in ('delivered', 'collapsed', 'grouped') or cardinality(d.reached) > 0))
           group by n.monitor_id, n.incident_id, n.created_at
           order by n.created_at, n.incident_id limit 500"#,
        since.to_sqlx(),
        until.to_sqlx(),
        &kinds,
    )
    .map(|r| Untaken {
        monitor: MonitorKey(r.monitor_id),
        incident: r.incident_id,
        created_at: r.created_at.to_jiff(),
        fails_still: r.fails_still,
        channels: r.channels,
    })
    .fetch_all(conn)
    .await
}

/// One event of an incident, as its first notice tells it.
#[derive(Debug, Clone)]
pub struct EventRow {
    pub created_at: Timestamp,
    pub kind: String,
    pub severity: String,
    pub payload: serde_json::Value,
    /// The fallback channel has it, or is being sent it.
    pub known: bool,
    pub collapsed: bool,
}

/// Events of an incident that anybody was to hear, the oldest first; `channel` is the fallback channel.
pub async fn events(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
    channel: Uuid,
) -> sqlx::Result<Vec<EventRow>> {
    sqlx::query!(
        r#"select e.created_at, e.kind, e.severity, e.payload,
                  exists (select from notice f where f.incident_id = $2 and f.channel_id = $3
                          and f.created_at = e.created_at and f.outcome is distinct from 'dropped') as "known!",
                  coalesce((e.payload ->> 'collapsed')::bool, false) as "collapsed!"
           from (select distinct on (created_at) notice_no, created_at, kind, severity, payload from notice
                 where monitor_id = $1 and incident_id = $2 and held_for is null
                 order by created_at, notice_no) as e
           order by e.created_at, e.notice_no"#,
        monitor.0,
        incident,
        channel
    )
    .map(|r| EventRow {
        created_at: r.created_at.to_jiff(),
        kind: r.kind,
        severity: r.severity,
        payload: r.payload,
        known: r.known,
        collapsed: r.collapsed,
    })
    .fetch_all(conn)
    .await
}

/// Queues an event for the fallback channel, due now. It keeps the instant of the event, by which it is known.
pub async fn queue(
    conn: &mut PgConnection,
    (monitor, incident): (MonitorKey, Uuid),
    channel: Uuid,
    event: &EventRow,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into notice (monitor_id, notice_id, incident_id, channel_id, kind, severity, payload, created_at, due_at,
                             fallback)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, true)",
        monitor.0,
        super::id_at(now),
        incident,
        channel,
        event.kind,
        event.severity,
        event.payload,
        event.created_at.to_sqlx(),
        now.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How many notices went to the fallback channel at or after `since`.
pub async fn told_since(conn: &mut PgConnection, since: Timestamp) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select count(*) as "n!" from notice where created_at >= $1 and fallback"#,
        since.to_sqlx()
    )
    .fetch_one(conn)
    .await
}

/// Whether the channel was told something of the incident before, and knows nothing all the same, because none
/// of it arrived.
pub async fn nothing_arrived(conn: &mut PgConnection, claimed: &Claimed) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select count(*) > 0
                  and not bool_or(outcome in ('delivered', 'collapsed', 'grouped') or cardinality(reached) > 0) as "none!"
           from notice where monitor_id = $1 and incident_id = $2 and channel_id = $3 and notice_no < $4"#,
        claimed.monitor.0,
        claimed.incident,
        claimed.channel,
        claimed.notice_no,
    )
    .fetch_one(conn)
    .await
}
