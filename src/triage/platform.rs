//! Incidents about Quorate itself, and who hears of them.
//!
//! Whoever looks after a cause calls [`settle`] at every look with all that it found. Two coordinators may do
//! so at once: the database holds at most one open incident for each subject.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sqlx::PgConnection;
use uuid::Uuid;

use super::escalate;
use crate::domain::{
    escalation::route::Own,
    incident::Severity,
    notice::{IncidentFacts, Notice, NoticeKind, PlatformFacts},
    platform::{Cause, Trouble},
};
use crate::store::{self, fleet_incidents::NO_MONITOR, incidents::NewIncident, platform::OpenRow};

/// What comes back within this is the same incident again.
const AGAIN: SignedDuration = SignedDuration::from_secs(600);

/// Makes the incidents of a cause what `found` says, in the caller's transaction: opens what has none,
/// rewrites what has one, and ends what is not found any more. Empty: the cause is gone.
///
/// Only a beginning, a change of severity and an end are told; a sentence that changes is rewritten in place.
pub async fn settle(
    conn: &mut PgConnection,
    cause: Cause,
    found: &[Trouble],
    now: Timestamp,
) -> sqlx::Result<()> {
    let open = store::platform::lock_open(conn, &cause.subject()).await?;
    let subjects: Vec<String> = found.iter().map(Trouble::subject).collect();
    let closed = store::platform::still_closed(conn, &cause.subject(), &subjects).await?;
    for (trouble, subject) in found.iter().zip(&subjects) {
        match open.iter().find(|row| row.subject == *subject) {
            Some(row) => update(conn, trouble, row, now).await?,
            None if closed.contains(subject) => {}
            None => begin(conn, trouble, subject, now).await?,
        }
    }
    for row in open.iter().filter(|row| !subjects.contains(&row.subject)) {
        let sentence = format!("Quorate {}.", over(&row.evidence));
        end(conn, row, "recovered", None, &sentence, now).await?;
    }
    Ok(())
}

/// Closes an open incident by hand, in the caller's transaction. Its cause does not open another before it was
/// gone once. False when it is no open incident about Quorate itself.
pub async fn resolve(
    conn: &mut PgConnection,
    incident: Uuid,
    by: &str,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let Some(row) = store::incidents::get(conn, NO_MONITOR, incident).await? else {
        return Ok(false);
    };
    let open = store::platform::lock_open(conn, &row.subject).await?;
    let own = open.iter().find(|row| row.incident == incident);
    let Some(row) = own.filter(|row| Cause::of_subject(&row.subject).is_some()) else {
        return Ok(false);
    };
    end(conn, row, "closed by hand", Some(by), &format!("{by} closed it."), now).await?;
    store::platform::add_closed(conn, &row.subject, now).await?;
    Ok(true)
}

async fn begin(
    conn: &mut PgConnection,
    trouble: &Trouble,
    subject: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    let severity = trouble.severity.name();
    let evidence = evidence(trouble);
    let sentence = &trouble.sentence;
    let known = store::platform::again(conn, subject, now - AGAIN).await?;
    let (incident, kind) = match known {
        Some(incident) => {
            if !store::platform::reopen(conn, incident).await? {
                return Ok(());
            }
            let rise = true;
            store::incidents::shift(
                conn, NO_MONITOR, incident, severity, rise, sentence, &evidence,
            )
            .await?;
            store::platform::rewrite(conn, incident, &trouble.title, sentence, &evidence).await?;
            (incident, NoticeKind::Reopened)
        }
        None => {
            let incident = store::id_at(now);
            let new = NewIncident {
                incident,
                monitor: NO_MONITOR,
                subject: subject.to_owned(),
                severity,
                started_at: now,
                opened_at: now,
                low: false,
                suppressed: false,
                sentence: sentence.clone(),
                evidence,
            };
            if !store::platform::open(conn, &new, &trouble.title).await? {
                return Ok(());
            }
            (incident, NoticeKind::Opened)
        }
    };
    event(conn, incident, kind.word(), None, sentence, now).await?;
    say(conn, incident, Said { kind, severity: trouble.severity, previous: None }, now).await
}

async fn update(
    conn: &mut PgConnection,
    trouble: &Trouble,
    row: &OpenRow,
    now: Timestamp,
) -> sqlx::Result<()> {
    let evidence = evidence(trouble);
    let before = severity(&row.severity);
    let same = row.sentence == trouble.sentence
        && row.evidence == evidence
        && row.title.as_ref() == Some(&trouble.title);
    if same && before == trouble.severity {
        return Ok(());
    }
    let (incident, sentence) = (row.incident, &trouble.sentence);
    store::platform::rewrite(conn, incident, &trouble.title, sentence, &evidence).await?;
    if before == trouble.severity {
        return store::wake::notify(conn, "state").await;
    }
    let rise = trouble.severity > before;
    let word = trouble.severity.name();
    store::incidents::shift(conn, NO_MONITOR, incident, word, rise, sentence, &evidence).await?;
    event(conn, incident, if rise { "escalated" } else { "downgraded" }, None, sentence, now)
        .await?;
    let what = Said { kind: NoticeKind::Moved, severity: trouble.severity, previous: Some(before) };
    say(conn, incident, what, now).await
}

async fn end(
    conn: &mut PgConnection,
    row: &OpenRow,
    reason: &str,
    by: Option<&str>,
    sentence: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    let incident = row.incident;
    store::incidents::resolve(conn, NO_MONITOR, incident, now, now, Some(reason)).await?;
    event(conn, incident, "resolved", by, sentence, now).await?;
    let severity = severity(&row.severity);
    let what = Said { kind: NoticeKind::Resolved, severity, previous: Some(severity) };
    say(conn, incident, what, now).await
}

async fn event(
    conn: &mut PgConnection,
    incident: Uuid,
    kind: &str,
    by: Option<&str>,
    sentence: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    store::incidents::add_event(conn, NO_MONITOR, incident, now, kind, by, sentence, &json!({}))
        .await?;
    store::wake::notify(conn, "state").await
}

/// One event as it is told.
#[derive(Debug, Clone, Copy)]
struct Said {
    kind: NoticeKind,
    severity: Severity,
    previous: Option<Severity>,
}

/// Tells everybody who hears of it.
async fn say(
    conn: &mut PgConnection,
    incident: Uuid,
    what: Said,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Said { kind, severity, previous } = what;
    let Some(row) = store::incidents::get(conn, NO_MONITOR, incident).await? else { return Ok(()) };
    let Some(facts) = facts(conn, incident, &row.subject).await? else { return Ok(()) };
    let ended = kind.ends();
    let payload = Notice {
        kind,
        severity,
        previous_severity: previous,
        monitor: None,
        fleet: None,
        slo: None,
        platform: Some(facts),
        certificate: None,
        prompt: None,
        storm: None,
        incident: IncidentFacts {
            uid: incident,
            subject: row.subject,
            started_at: row.started_at,
            opened_at: row.opened_at,
            ended_at: row.ended_at.filter(|_| ended),
            resolve_reason: row.resolve_reason.filter(|_| ended),
            low: false,
        },
        sentence: row.sentence,
        locations: Vec::new(),
        scope: None,
        eligible: 0,
        needed: 0,
        down: 0,
        decided_at: now,
        collapsed: false,
    };
    // It has no labels: of the routes, those that fit everything fit it.
    let own = Own::default();
    let told = escalate::Telling { monitor: NO_MONITOR, incident, fleet: None, own, payload };
    escalate::tell(conn, told, now).await
}

async fn facts(
    conn: &mut PgConnection,
    incident: Uuid,
    subject: &str,
) -> sqlx::Result<Option<PlatformFacts>> {
    let Some(cause) = Cause::of_subject(subject) else { return Ok(None) };
    let (title, evidence) = store::platform::words(conn, incident).await?;
    Ok(Some(PlatformFacts { cause: cause.word().to_owned(), title, over: over(&evidence) }))
}

/// What an incident keeps of its trouble: the evidence, and how its end is told.
fn evidence(trouble: &Trouble) -> Value {
    let mut evidence = trouble.evidence.clone();
    if let Some(fields) = evidence.as_object_mut() {
        fields.insert("over".to_owned(), trouble.over.clone().into());
    }
    evidence
}

fn over(evidence: &Value) -> String {
    evidence["over"].as_str().unwrap_or("is as usual again").to_owned()
}

fn severity(word: &str) -> Severity {
    Severity::from_name(word).unwrap_or(Severity::Degraded)
}
