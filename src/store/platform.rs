//! Incidents about Quorate itself, under monitor 0.

use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;
use uuid::Uuid;

use super::incidents::NewIncident;

/// An open incident, locked.
#[derive(Debug, Clone)]
pub struct OpenRow {
    pub incident: Uuid,
    pub subject: String,
    pub severity: String,
    pub title: Option<String>,
    pub sentence: String,
    pub evidence: serde_json::Value,
}

/// Open incidents whose subject is this, or begins with it and a colon; locked in id order.
pub async fn lock_open(conn: &mut PgConnection, subject: &str) -> sqlx::Result<Vec<OpenRow>> {
    sqlx::query!(
        "select incident_id, subject, severity, title, sentence, evidence from incident
         where monitor_id = 0 and resolved_at is null and (subject = $1 or starts_with(subject, $1 || ':'))
         order by incident_id for no key update",
        subject
    )
    .map(|r| OpenRow {
        incident: r.incident_id,
        subject: r.subject,
        severity: r.severity,
        title: r.title,
        sentence: r.sentence,
        evidence: r.evidence,
    })
    .fetch_all(conn)
    .await
}

/// Opens an incident; false when one about this subject is open already.
pub async fn open(conn: &mut PgConnection, new: &NewIncident, title: &str) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "insert into incident
             (monitor_id, incident_id, subject, severity, peak, started_at, opened_at, title, sentence, evidence)
         values (0, $1, $2, $3, $3, $4, $5, $6, $7, $8)
         on conflict (monitor_id, subject) where resolved_at is null do nothing",
        new.incident,
        new.subject,
        new.severity,
        new.started_at.to_sqlx(),
        new.opened_at.to_sqlx(),
        title,
        new.sentence,
        new.evidence,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Opens an incident that was over; false when somebody did so meanwhile.
pub async fn reopen(conn: &mut PgConnection, incident: Uuid) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update incident set resolved_at = null, ended_at = null, resolve_reason = null
         where monitor_id = 0 and incident_id = $1 and resolved_at is not null",
        incident
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Rewrites what an open incident says.
pub async fn rewrite(
    conn: &mut PgConnection,
    incident: Uuid,
    title: &str,
    sentence: &str,
    evidence: &serde_json::Value,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update incident set title = $2, sentence = $3, evidence = $4 where monitor_id = 0 and incident_id = $1",
        incident,
        title,
        sentence,
        evidence
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The last incident about this subject, if it ended by itself at or after `since`.
pub async fn again(
    conn: &mut PgConnection,
    subject: &str,
    since: Timestamp,
) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar!(
        "select incident_id from incident
         where monitor_id = 0 and subject = $1 and resolved_at >= $2 and resolve_reason = 'recovered'
         order by opened_at desc limit 1",
        subject,
        since.to_sqlx()
    )
    .fetch_optional(conn)
    .await
}

/// The cause lasts, but its incident was closed by hand.
pub async fn add_closed(
    conn: &mut PgConnection,
    subject: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into platform_closed (subject, closed_at) values ($1, $2) on conflict (subject) do nothing",
        subject,
        now.to_sqlx()
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets which causes were closed by hand, but for those in `last`; answers which of these were.
pub async fn still_closed(
    conn: &mut PgConnection,
    subject: &str,
    last: &[String],
) -> sqlx::Result<Vec<String>> {
    sqlx::query!(
        "delete from platform_closed
         where (subject = $1 or starts_with(subject, $1 || ':')) and subject <> all($2)",
        subject,
        last
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query_scalar!("select subject from platform_closed where subject = any($1)", last)
        .fetch_all(conn)
        .await
}

/// Title and evidence of an incident.
pub async fn words(
    conn: &mut PgConnection,
    incident: Uuid,
) -> sqlx::Result<(String, serde_json::Value)> {
    sqlx::query!(
        r#"select coalesce(title, '') as "title!", evidence from incident where monitor_id = 0 and incident_id = $1"#,
        incident
    )
    .map(|r| (r.title, r.evidence))
    .fetch_one(conn)
    .await
}

/// Whether an incident is open whose subject is this, or begins with it and a colon.
pub async fn is_open(conn: &mut PgConnection, subject: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from incident where monitor_id = 0 and resolved_at is null
                          and (subject = $1 or starts_with(subject, $1 || ':'))) as "open!""#,
        subject
    )
    .fetch_one(conn)
    .await
}
