//! Channels: where notices go.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use super::seal::Place;
use crate::domain::notice::{ChannelRule, Severity};

/// A channel that is not deleted. `kind` and `min_severity` are words; the database holds no others.
#[derive(Debug, Clone)]
pub struct Channel {
    pub id: Uuid,
    pub name: String,
    pub kind: String,
    /// What may be shown (`domain::channel::ChannelConfig::to_json`).
    pub config: serde_json::Value,
    /// `ChannelSecrets::to_text`, sealed at [`place`]; none when there is nothing to hide.
    pub sealed: Option<Vec<u8>>,
    pub is_default: bool,
    pub min_severity: String,
    pub enabled: bool,
    pub disabled_reason: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub health: ChannelHealth,
}

/// How deliveries went of late, tests included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelHealth {
    pub last_attempt_at: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    /// What the other side said at the last attempt.
    pub last_answer: Option<String>,
    /// Since when every attempt failed; none while it works.
    pub failing_since: Option<Timestamp>,
}

/// What a create or an edit writes.
#[derive(Debug, Clone)]
pub struct ChannelValues<'a> {
    pub name: &'a str,
    pub kind: &'a str,
    pub config: &'a serde_json::Value,
    pub sealed: Option<&'a [u8]>,
    pub is_default: bool,
    pub min_severity: &'a str,
    pub enabled: bool,
}

/// Where a channel's secrets are sealed; `row` is the channel's id as text.
pub fn place(row: &str) -> Place<'_> {
    Place { table: "channel", column: "sealed", row }
}

/// What the rule of who is told needs, for all channels, oldest first. One that switched itself off counts as
/// enabled: what it would have heard is queued, not taken, and goes to the fallback channel.
pub async fn rules(conn: &mut PgConnection) -> sqlx::Result<Vec<ChannelRule>> {
    sqlx::query!(
        r#"select channel_id, is_default, min_severity, enabled or disabled_reason is not null as "enabled!" from channel
           where deleted_at is null order by created_at, channel_id"#
    )
    .map(|row| ChannelRule {
        id: row.channel_id,
        is_default: row.is_default,
        // The column's check holds exactly these words.
        min_severity: Severity::from_name(&row.min_severity).unwrap_or(Severity::Degraded),
        enabled: row.enabled,
    })
    .fetch_all(conn)
    .await
}

/// The name is taken: constraint `channel_name_key`.
pub async fn insert(
    conn: &mut PgConnection,
    id: Uuid,
    values: &ChannelValues<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into channel
             (channel_id, name, kind, config, sealed, is_default, min_severity, enabled, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)",
        id,
        values.name,
        values.kind,
        values.config,
        values.sealed,
        values.is_default,
        values.min_severity,
        values.enabled,
        now.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// False when there is no such channel. Switching one on clears why it was off. The name is taken:
/// constraint `channel_name_key`.
pub async fn update(
    conn: &mut PgConnection,
    id: Uuid,
    values: &ChannelValues<'_>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update channel set name = $2, kind = $3, config = $4, sealed = $5, is_default = $6, min_severity = $7,
             enabled = $8, disabled_reason = case when $8 then null else disabled_reason end, updated_at = $9
         where channel_id = $1 and deleted_at is null",
        id,
        values.name,
        values.kind,
        values.config,
        values.sealed,
        values.is_default,
        values.min_severity,
        values.enabled,
        now.to_sqlx(),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Frees the name; the row stays, because notices refer to it. What is unsent is dropped by
/// `outbox::drop_unsent`. False when there is no such channel.
pub async fn delete(conn: &mut PgConnection, id: Uuid, now: Timestamp) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update channel set deleted_at = $2, updated_at = $2, sealed = null, enabled = false
         where channel_id = $1 and deleted_at is null",
        id,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Switches a channel off by itself, and says why.
pub async fn disable(
    conn: &mut PgConnection,
    id: Uuid,
    reason: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update channel set enabled = false, disabled_reason = $2, updated_at = $3
         where channel_id = $1 and deleted_at is null and enabled",
        id,
        reason,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Records how an attempt went and what the other side said.
pub async fn attempted(
    conn: &mut PgConnection,
    id: Uuid,
    delivered: bool,
    answer: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update channel set last_attempt_at = $4, last_answer = $3,
             last_success_at = case when $2 then $4 else last_success_at end,
             failing_since = case when $2 then null else coalesce(failing_since, $4) end
         where channel_id = $1",
        id,
        delivered,
        answer,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn get(conn: &mut PgConnection, id: Uuid) -> sqlx::Result<Option<Channel>> {
    Ok(select(conn, Some(id)).await?.pop())
}

/// All of them by name; there are few.
pub async fn list(conn: &mut PgConnection) -> sqlx::Result<Vec<Channel>> {
    select(conn, None).await
}

async fn select(conn: &mut PgConnection, id: Option<Uuid>) -> sqlx::Result<Vec<Channel>> {
    sqlx::query!(
        "select channel_id, name, kind, config, sealed, is_default, min_severity, enabled, disabled_reason,
                created_at, updated_at, last_attempt_at, last_success_at, last_answer, failing_since
         from channel where deleted_at is null and ($1::uuid is null or channel_id = $1)
         order by lower(name), channel_id",
        id
    )
    .map(|row| Channel {
        id: row.channel_id,
        name: row.name,
        kind: row.kind,
        config: row.config,
        sealed: row.sealed,
        is_default: row.is_default,
        min_severity: row.min_severity,
        enabled: row.enabled,
        disabled_reason: row.disabled_reason,
        created_at: row.created_at.to_jiff(),
        updated_at: row.updated_at.to_jiff(),
        health: ChannelHealth {
            last_attempt_at: row.last_attempt_at.map(|t| t.to_jiff()),
            last_success_at: row.last_success_at.map(|t| t.to_jiff()),
            last_answer: row.last_answer,
            failing_since: row.failing_since.map(|t| t.to_jiff()),
        },
    })
    .fetch_all(conn)
    .await
}
