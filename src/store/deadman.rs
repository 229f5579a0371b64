//! The dead-man ping: when it was sent, what came of it, and what keeps it from being sent.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use crate::domain::deadman::Vitals;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pings {
    pub pinged_at: Option<Timestamp>,
    /// Whether the last one was answered with a 2xx; none while it is under way.
    pub answered: Option<bool>,
    pub answer: Option<String>,
    pub looked_at: Option<Timestamp>,
    /// Why none is sent; none when one may be.
    pub withheld: Option<String>,
}

pub async fn get(conn: &mut PgConnection) -> sqlx::Result<Pings> {
    let row = sqlx::query!("select pinged_at, answered, answer, looked_at, withheld from deadman")
        .map(|r| Pings {
            pinged_at: r.pinged_at.map(|t| t.to_jiff()),
            answered: r.answered,
            answer: r.answer,
            looked_at: r.looked_at.map(|t| t.to_jiff()),
            withheld: r.withheld,
        })
        .fetch_optional(conn)
        .await?;
    Ok(row.unwrap_or_default())
}

/// What the ping vouches for, as it is now.
pub async fn vitals(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<Vitals> {
    let backlog = super::outbox::backlog(conn, now).await?;
    let row = sqlx::query!(
        r#"select (select count(*) from monitor_live l join monitor m using (monitor_id)
                   where l.wake_at < $1::timestamptz - make_interval(secs => 2 * m.interval_s)
                     and m.enabled and m.deleted_at is null) as "late!",
                  (select count(*) from agent where revoked_at is null
                     and last_seen_at > $1::timestamptz - interval '30 seconds') as "fresh!""#,
        now.to_sqlx()
    )
    .fetch_one(conn)
    .await?;
    let waited = |at: Timestamp| now.as_millisecond() - at.as_millisecond();
    Ok(Vitals {
        late_monitors: row.late,
        fresh_agents: row.fresh,
        oldest_untried_ms: backlog.oldest_untried.map(waited),
    })
}

/// Claims the ping that is due; false when it is not, or when another coordinator has it. The change itself
/// shows that the database can be written.
pub async fn claim(
    conn: &mut PgConnection,
    now: Timestamp,
    last_before: Timestamp,
) -> sqlx::Result<bool> {
    sqlx::query!("insert into deadman default values on conflict do nothing")
        .execute(&mut *conn)
        .await?;
    let done = sqlx::query!(
        "update deadman set pinged_at = $1, answered = null, answer = null, looked_at = $1, withheld = null
         where pinged_at is null or pinged_at <= $2",
        now.to_sqlx(),
        last_before.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Keeps why no ping is sent.
pub async fn withhold(conn: &mut PgConnection, why: &str, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into deadman (looked_at, withheld) values ($1, $2)
         on conflict (one) do update set looked_at = excluded.looked_at, withheld = excluded.withheld",
        now.to_sqlx(),
        why
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What came of the ping that was claimed at `pinged_at`.
pub async fn answer(
    conn: &mut PgConnection,
    pinged_at: Timestamp,
    answered: bool,
    answer: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update deadman set answered = $2, answer = $3 where pinged_at = $1",
        pinged_at.to_sqlx(),
        answered,
        answer
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets the pings, because nobody is to be pinged any more.
pub async fn clear(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("delete from deadman").execute(conn).await?;
    Ok(())
}
