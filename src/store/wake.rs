//! Telling agents and other coordinators, in the transaction that decides.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::ids::{LocationKey, MonitorKey};

/// What changed for agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Settings or locations of a monitor.
    Monitor(MonitorKey),
    /// A location's vote on a monitor went down, or came back.
    Vote(MonitorKey, LocationKey),
    /// A location's agents, or whether it is enabled.
    Location(LocationKey),
}

/// Takes the next revision and records the change. The head row stays locked until the commit, so that
/// the order of commits is the order of revisions: call it late.
pub async fn change(
    conn: &mut PgConnection,
    changes: &[Change],
    now: Timestamp,
) -> sqlx::Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let count = i64::try_from(changes.len()).unwrap_or(i64::MAX);
    let head =
        sqlx::query_scalar!("update assignment_head set rev = rev + $1 returning rev", count)
            .fetch_one(&mut *conn)
            .await?;
    for (rev, change) in (head - count + 1..).zip(changes) {
        let (kind, monitor, location) = match change {
            Change::Monitor(m) => ("monitor", Some(m.0), None),
            Change::Vote(m, l) => ("vote", Some(m.0), Some(l.0)),
            Change::Location(l) => ("location", None, Some(l.0)),
        };
        sqlx::query!(
            "insert into assignment_change (rev, at, kind, monitor_id, location_id) values ($1, $2, $3, $4, $5)",
            rev,
            now.to_sqlx(),
            kind,
            monitor,
            location
        )
        .execute(&mut *conn)
        .await?;
    }
    notify(conn, "assignment").await
}

/// Wakes every coordinator's listeners at commit. Topics: assignment, request, notice, state.
pub async fn notify(conn: &mut PgConnection, topic: &str) -> sqlx::Result<()> {
    sqlx::query!("select pg_notify('quorate_wake', $1)", topic).fetch_one(conn).await?;
    Ok(())
}

/// A request to probe at once, for one location.
#[derive(Debug, Clone)]
pub struct NewRequest {
    pub uid: Uuid,
    pub batch: Uuid,
    pub location: LocationKey,
    pub monitor: Option<MonitorKey>,
    pub kind: &'static str,
    pub sealed_check: Option<Vec<u8>>,
    pub timeout_ms: Option<i32>,
    pub requested_by: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

pub async fn request(conn: &mut PgConnection, requests: &[NewRequest]) -> sqlx::Result<()> {
    if requests.is_empty() {
        return Ok(());
    }
    for r in requests {
        sqlx::query!(
            "insert into probe_request
                 (uid, batch_id, location_id, monitor_id, kind, sealed_check, timeout_ms, requested_by, created_at, expires_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            r.uid,
            r.batch,
            r.location.0,
            r.monitor.map(|m| m.0),
            r.kind,
            r.sealed_check,
            r.timeout_ms,
            r.requested_by,
            r.created_at.to_sqlx(),
            r.expires_at.to_sqlx(),
        )
        .execute(&mut *conn)
        .await?;
    }
    notify(conn, "request").await
}
