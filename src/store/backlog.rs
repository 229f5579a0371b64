//! How far delivery is behind.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

/// How far delivery is behind, for metrics, the health page and the dead-man ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    pub unsettled: i64,
    /// The oldest notice that is due and was never attempted.
    pub oldest_untried: Option<Timestamp>,
}

pub async fn backlog(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<Backlog> {
    let row = sqlx::query!(
        r#"select count(*) as "unsettled!", min(due_at) filter (where attempts = 0 and due_at <= $1 and held_for is null) as oldest
           from notice where settled_at is null"#,
        now.to_sqlx()
    )
    .fetch_one(conn)
    .await?;
    Ok(Backlog { unsettled: row.unsettled, oldest_untried: row.oldest.map(|t| t.to_jiff()) })
}
