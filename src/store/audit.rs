//! Who changed what; written in the transaction of the change.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

#[derive(Debug, Clone)]
pub struct AuditRow {
    pub id: i64,
    pub at: Timestamp,
    pub actor: String,
    pub action: String,
    pub subject: String,
    pub detail: serde_json::Value,
}

/// `action` is `monitor.create`, `subject` is `monitor:UUID`; `detail` never holds a secret.
pub async fn add(
    conn: &mut PgConnection,
    at: Timestamp,
    actor: &str,
    action: &str,
    subject: &str,
    detail: &serde_json::Value,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into audit (at, actor, action, subject, detail) values ($1, $2, $3, $4, $5)",
        at.to_sqlx(),
        actor,
        action,
        subject,
        detail
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The latest first, below `before`.
pub async fn list(
    conn: &mut PgConnection,
    subject: Option<&str>,
    actor: Option<&str>,
    before: Option<i64>,
    limit: i64,
) -> sqlx::Result<Vec<AuditRow>> {
    sqlx::query!(
        "select audit_id, at, actor, action, subject, detail from audit
         where ($1::text is null or subject = $1) and ($2::text is null or actor = $2)
           and ($3::int8 is null or audit_id < $3)
         order by audit_id desc limit $4",
        subject,
        actor,
        before,
        limit
    )
    .map(|r| AuditRow {
        id: r.audit_id,
        at: r.at.to_jiff(),
        actor: r.actor,
        action: r.action,
        subject: r.subject,
        detail: r.detail,
    })
    .fetch_all(conn)
    .await
}
