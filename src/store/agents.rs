//! Agents: who they are, where they stand, when they were heard.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::ids::LocationKey;

#[derive(Debug, Clone)]
pub struct AgentRow {
    pub id: Uuid,
    pub location: LocationKey,
    pub location_uid: Uuid,
    pub created_at: Timestamp,
    pub first_seen_at: Option<Timestamp>,
    pub last_seen_at: Option<Timestamp>,
    pub version: Option<String>,
    pub clock_offset_ms: Option<i32>,
    pub in_flight: Option<i32>,
    pub spool: Option<i32>,
    pub dropped: i64,
}

/// Agents that are not revoked, oldest first; of one location, or all.
pub async fn list(
    conn: &mut PgConnection,
    location: Option<LocationKey>,
) -> sqlx::Result<Vec<AgentRow>> {
    sqlx::query!(
        "select a.agent_id, a.location_id, l.uid, a.created_at, a.first_seen_at, a.last_seen_at, a.version,
                a.clock_offset_ms, a.in_flight, a.spool, a.dropped
         from agent a join location l using (location_id)
         where a.revoked_at is null and ($1::int2 is null or a.location_id = $1)
         order by a.created_at, a.agent_id",
        location.map(|l| l.0)
    )
    .map(|r| AgentRow {
        id: r.agent_id,
        location: LocationKey(r.location_id),
        location_uid: r.uid,
        created_at: r.created_at.to_jiff(),
        first_seen_at: r.first_seen_at.map(|t| t.to_jiff()),
        last_seen_at: r.last_seen_at.map(|t| t.to_jiff()),
        version: r.version,
        clock_offset_ms: r.clock_offset_ms,
        in_flight: r.in_flight,
        spool: r.spool,
        dropped: r.dropped,
    })
    .fetch_all(conn)
    .await
}

pub async fn insert(
    conn: &mut PgConnection,
    id: Uuid,
    location: LocationKey,
    hash: &[u8; 32],
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into agent (agent_id, location_id, token_hash, created_at) values ($1, $2, $3, $4)",
        id,
        location.0,
        hash.as_slice(),
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The location of what was revoked; none when there is no such agent or it was revoked before.
pub async fn revoke(
    conn: &mut PgConnection,
    id: Uuid,
    now: Timestamp,
) -> sqlx::Result<Option<LocationKey>> {
    Ok(sqlx::query_scalar!(
        "update agent set revoked_at = $2 where agent_id = $1 and revoked_at is null returning location_id",
        id,
        now.to_sqlx()
    )
    .fetch_optional(conn)
    .await?
    .map(LocationKey))
}

pub async fn revoke_all(
    conn: &mut PgConnection,
    location: LocationKey,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update agent set revoked_at = $2 where location_id = $1 and revoked_at is null",
        location.0,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// An agent that may speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownAgent {
    pub id: Uuid,
    pub location: LocationKey,
    /// Its wall clock minus ours in milliseconds, as its last heartbeat told.
    pub clock_offset_ms: Option<i32>,
}

pub async fn find(conn: &mut PgConnection, hash: &[u8; 32]) -> sqlx::Result<Option<KnownAgent>> {
    sqlx::query!(
        "select a.agent_id, a.location_id, a.clock_offset_ms from agent a join location l using (location_id)
         where a.token_hash = $1 and a.revoked_at is null and l.deleted_at is null",
        hash.as_slice()
    )
    .map(|r| KnownAgent {
        id: r.agent_id,
        location: LocationKey(r.location_id),
        clock_offset_ms: r.clock_offset_ms,
    })
    .fetch_optional(conn)
    .await
}

/// Whether an agent that was let in still may speak.
pub async fn is_good(conn: &mut PgConnection, id: Uuid) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select 1 from agent a join location l using (location_id)
                          where a.agent_id = $1 and a.revoked_at is null and l.deleted_at is null) as "good!""#,
        id
    )
    .fetch_one(conn)
    .await
}

/// What an agent says of itself.
#[derive(Debug)]
pub struct Beat<'a> {
    pub version: &'a str,
    pub clock_offset_ms: i32,
    pub in_flight: i32,
    pub spool: i32,
    pub dropped: i64,
    pub selfcheck: Option<&'a serde_json::Value>,
}

/// Stores a heartbeat. True when the agent was offline until now (not heard since `offline`).
pub async fn beat(
    conn: &mut PgConnection,
    id: Uuid,
    beat: &Beat<'_>,
    now: Timestamp,
    offline: Timestamp,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"with before as (select last_seen_at from agent where agent_id = $1)
           update agent set first_seen_at = coalesce(first_seen_at, $2), last_seen_at = greatest(last_seen_at, $2),
               version = $3, clock_offset_ms = $4, in_flight = $5, spool = $6, dropped = $7, selfcheck = $8
           where agent_id = $1
           returning coalesce((select last_seen_at from before) <= $9, true) as "was_offline!""#,
        id,
        now.to_sqlx(),
        beat.version,
        beat.clock_offset_ms,
        beat.in_flight,
        beat.spool,
        beat.dropped,
        beat.selfcheck as _,
        offline.to_sqlx(),
    )
    .fetch_one(conn)
    .await
}

/// The agent was heard without saying anything of itself. True when it was offline until now.
pub async fn touch(
    conn: &mut PgConnection,
    id: Uuid,
    now: Timestamp,
    offline: Timestamp,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"with before as (select last_seen_at from agent where agent_id = $1)
           update agent set first_seen_at = coalesce(first_seen_at, $2), last_seen_at = greatest(last_seen_at, $2)
           where agent_id = $1
           returning coalesce((select last_seen_at from before) <= $3, true) as "was_offline!""#,
        id,
        now.to_sqlx(),
        offline.to_sqlx(),
    )
    .fetch_one(conn)
    .await
}
