//! Where each agent's delivery has come to. The row's lock is the first in the order.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

/// Creates the row on an agent's first batch after a start, locks it, and answers the last sequence
/// number stored. Two statements, because an upsert does not see what it waited for.
pub async fn lock(
    conn: &mut PgConnection,
    agent: Uuid,
    boot: Uuid,
    now: Timestamp,
) -> sqlx::Result<i64> {
    sqlx::query!(
        "insert into agent_boot (agent_id, boot, last_seq, last_at) values ($1, $2, 0, $3) on conflict do nothing",
        agent,
        boot,
        now.to_sqlx()
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query_scalar!(
        "select last_seq from agent_boot where agent_id = $1 and boot = $2 for no key update",
        agent,
        boot
    )
    .fetch_one(conn)
    .await
}

/// The last sequence number stored of each of these starts; those that are not known are absent.
pub async fn last_seqs(
    conn: &mut PgConnection,
    agent: Uuid,
    boots: &[Uuid],
) -> sqlx::Result<HashMap<Uuid, i64>> {
    let rows = sqlx::query!(
        "select boot, last_seq from agent_boot where agent_id = $1 and boot = any($2)",
        agent,
        boots
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.boot, row.last_seq)).collect())
}

/// Remembers how far delivery has come, and how many numbers were skipped on the way.
pub async fn advance(
    conn: &mut PgConnection,
    agent: Uuid,
    boot: Uuid,
    last_seq: i64,
    gaps: i64,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update agent_boot set last_seq = $3, gaps = gaps + $4, last_at = $5 where agent_id = $1 and boot = $2",
        agent,
        boot,
        last_seq,
        gaps,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets starts that have been silent for long: nothing of theirs can arrive any more.
pub async fn forget_before(conn: &mut PgConnection, before: Timestamp) -> sqlx::Result<u64> {
    Ok(sqlx::query!("delete from agent_boot where last_at < $1", before.to_sqlx())
        .execute(conn)
        .await?
        .rows_affected())
}
