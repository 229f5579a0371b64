//! The outbox: notices between the decision and their delivery.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{
    ids::MonitorKey,
    notice::{Notice, NoticeKind, Told},
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
    if notices.is_empty() {
        return Ok(());
    }
    for new in notices {
        let payload =
            serde_json::to_value(&new.payload).map_err(|e| sqlx::Error::Encode(Box::new(e)))?;
        sqlx::query!(
            "insert into notice (monitor_id, notice_id, incident_id, channel_id, kind, severity, payload, created_at, due_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $8)",
            new.monitor.0,
            new.notice,
            new.incident,
            new.channel,
            new.payload.kind.word(),
            new.payload.severity.word(),
            payload,
            new.created_at.to_sqlx(),
        )
        .execute(&mut *conn)
        .await?;
    }
    super::wake::notify(conn, "notice").await
}

/// Which channels know of the incident, by the last thing queued for each. What was dropped unsent was
/// never heard.
pub async fn told(
    conn: &mut PgConnection,
    monitor: MonitorKey,
    incident: Uuid,
) -> sqlx::Result<Vec<Told>> {
    let rows = sqlx::query!(
        "select distinct on (channel_id) channel_id, kind from notice
         where monitor_id = $1 and incident_id = $2 and outcome is distinct from 'dropped'
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
