//! Requests to probe at once: taken by one agent, answered, read by whoever asked. Making them is
//! `store::wake`.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use super::seal::Place;
use crate::domain::ids::{LocationKey, MonitorKey};

/// Where an unsaved check is sealed; `row` is the request's uid as text.
pub fn place(row: &str) -> Place<'_> {
    Place { table: "probe_request", column: "sealed_check", row }
}

/// A request that waits for an agent.
#[derive(Debug, Clone)]
pub struct OpenRequest {
    pub id: i64,
    pub uid: Uuid,
    pub monitor: Option<MonitorKey>,
    pub monitor_uid: Option<Uuid>,
    /// confirm, manual or try; the column's check holds no others.
    pub kind: String,
    pub sealed_check: Option<Vec<u8>>,
    pub timeout_ms: Option<i32>,
    pub expires_at: Timestamp,
}

/// What a location's agents have not taken yet, oldest first.
pub async fn open(
    conn: &mut PgConnection,
    location: LocationKey,
    now: Timestamp,
) -> sqlx::Result<Vec<OpenRequest>> {
    sqlx::query!(
        r#"select r.request_id, r.uid, r.monitor_id, m.uid as "monitor_uid?", r.kind, r.sealed_check, r.timeout_ms, r.expires_at
           from probe_request r left join monitor m using (monitor_id)
           where r.location_id = $1 and r.agent_id is null and r.expires_at > $2 order by r.request_id limit 1000"#,
        location.0,
        now.to_sqlx()
    )
    .map(|r| OpenRequest {
        id: r.request_id,
        uid: r.uid,
        monitor: r.monitor_id.map(MonitorKey),
        monitor_uid: r.monitor_uid,
        kind: r.kind,
        sealed_check: r.sealed_check,
        timeout_ms: r.timeout_ms,
        expires_at: r.expires_at.to_jiff(),
    })
    .fetch_all(conn)
    .await
}

/// Takes requests for an agent; those that somebody else was quicker to take are absent from the answer.
pub async fn take(conn: &mut PgConnection, ids: &[i64], agent: Uuid) -> sqlx::Result<Vec<i64>> {
    sqlx::query_scalar!(
        "update probe_request set agent_id = $2 where request_id = any($1) and agent_id is null returning request_id",
        ids,
        agent
    )
    .fetch_all(conn)
    .await
}

/// Stores an answer. False when the agent has no such request or answered it before.
pub async fn answer(
    conn: &mut PgConnection,
    uid: Uuid,
    agent: Uuid,
    observation: &serde_json::Value,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update probe_request set observation = $3, answered_at = $4, sealed_check = null
         where uid = $1 and agent_id = $2 and answered_at is null",
        uid,
        agent,
        observation,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// One location's part of a batch.
#[derive(Debug, Clone)]
pub struct BatchRow {
    pub location: LocationKey,
    pub taken: bool,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub observation: Option<serde_json::Value>,
    pub answered_at: Option<Timestamp>,
}

/// A batch by location, in the order requested.
pub async fn batch(conn: &mut PgConnection, batch: Uuid) -> sqlx::Result<Vec<BatchRow>> {
    sqlx::query!(
        r#"select location_id, agent_id is not null as "taken!", created_at, expires_at, observation, answered_at
           from probe_request where batch_id = $1 and kind <> 'confirm' order by request_id"#,
        batch
    )
    .map(|r| BatchRow {
        location: LocationKey(r.location_id),
        taken: r.taken,
        created_at: r.created_at.to_jiff(),
        expires_at: r.expires_at.to_jiff(),
        observation: r.observation,
        answered_at: r.answered_at.map(|t| t.to_jiff()),
    })
    .fetch_all(conn)
    .await
}
