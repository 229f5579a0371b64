//! From the alerts of an SLO to its incidents, and to those who are told, in the transaction that evaluates.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{
    escalation::route::Own,
    fields::text_map,
    incident::Severity,
    notice::{IncidentFacts, Notice, NoticeKind, SloFacts},
    slo::alert::{Rates, Seen, Standing},
};
use crate::store::{
    self,
    fleet_incidents::NO_MONITOR,
    incidents::{IncidentRow, NewIncident},
    slos::SloRow,
};
use crate::triage::escalate;

/// What comes back within this is the same incident again.
const AGAIN: SignedDuration = SignedDuration::from_secs(600);

/// Makes an alert what it is seen to be; `open` is the incident that it had. Answers the one it has now.
pub(super) async fn settle(
    conn: &mut PgConnection,
    slo: &SloRow,
    seen: &Seen,
    open: Option<Uuid>,
    since: Timestamp,
    now: Timestamp,
) -> sqlx::Result<Option<Uuid>> {
    let row = match open {
        Some(id) => store::incidents::get(conn, NO_MONITOR, id).await?,
        None => None,
    };
    let row = row.filter(|row| row.resolved_at.is_none());
    match (seen.standing, row) {
        (Standing::Frozen, _) => Ok(open),
        (Standing::Calm, None) => Ok(None),
        (Standing::Calm, Some(row)) => {
            close(conn, slo, &row, seen, "recovered", now).await?;
            Ok(None)
        }
        (Standing::On(severity), None) => {
            begin(conn, slo, seen, severity, since, now).await.map(Some)
        }
        (Standing::On(severity), Some(row)) => {
            shift(conn, slo, seen, severity, &row, now).await?;
            let before = store::slo_incidents::worst(conn, row.incident).await?;
            let worst = before.worst(seen.rates);
            if worst != before {
                store::slo_incidents::set_worst(conn, row.incident, worst).await?;
            }
            Ok(open)
        }
    }
}

/// Ends an incident whose alert there is no more.
pub(super) async fn drop_alert(
    conn: &mut PgConnection,
    slo: &SloRow,
    name: &str,
    incident: Uuid,
    reason: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    let row = store::incidents::get(conn, NO_MONITOR, incident).await?;
    let Some(row) = row.filter(|row| row.resolved_at.is_none()) else { return Ok(()) };
    let seen = Seen {
        name: name.to_owned(),
        standing: Standing::Calm,
        title: "raises this alert",
        sentence: row.sentence.clone(),
        rates: Rates::default(),
    };
    close(conn, slo, &row, &seen, reason, now).await
}

async fn begin(
    conn: &mut PgConnection,
    slo: &SloRow,
    seen: &Seen,
    severity: Severity,
    since: Timestamp,
    now: Timestamp,
) -> sqlx::Result<Uuid> {
    let subject = format!("slo:{}:{}", slo.uid, seen.name);
    let known = store::slo_incidents::again(conn, slo.key, &subject, now - AGAIN).await?;
    let (incident, kind, word) = match known {
        Some(incident) => {
            let before = store::slo_incidents::worst(conn, incident).await?;
            let evidence = evidence(seen, seen.rates.worst(before));
            store::incidents::reopen(
                conn,
                NO_MONITOR,
                incident,
                severity.name(),
                false,
                &seen.sentence,
                &evidence,
            )
            .await?;
            (incident, NoticeKind::Reopened, "reopened")
        }
        None => {
            let incident = store::id_at(now);
            let new = NewIncident {
                incident,
                monitor: NO_MONITOR,
                subject,
                severity: severity.name(),
                started_at: since.min(now),
                opened_at: now,
                low: false,
                suppressed: false,
                sentence: seen.sentence.clone(),
                evidence: evidence(seen, seen.rates),
            };
            store::incidents::open(conn, &new).await?;
            (incident, NoticeKind::Opened, "opened")
        }
    };
    store::slo_incidents::adopt(conn, incident, slo.key, seen.title).await?;
    event(conn, incident, word, &seen.sentence, now).await?;
    say(conn, slo, seen, incident, Said { kind, severity, previous: None }, now).await?;
    Ok(incident)
}

/// What an incident keeps of its alert.
fn evidence(seen: &Seen, worst: Rates) -> serde_json::Value {
    json!({ "alert": seen.name, "worst": { "long": worst.long, "short": worst.short } })
}

async fn shift(
    conn: &mut PgConnection,
    slo: &SloRow,
    seen: &Seen,
    severity: Severity,
    row: &IncidentRow,
    now: Timestamp,
) -> sqlx::Result<()> {
    let before = Severity::from_name(&row.severity).unwrap_or(Severity::Degraded);
    if before == severity {
        return Ok(());
    }
    let (rise, incident) = (severity > before, row.incident);
    let worst = store::slo_incidents::worst(conn, incident).await?;
    let evidence = evidence(seen, seen.rates.worst(worst));
    let (word, text) = (severity.name(), &seen.sentence);
    store::incidents::shift(conn, NO_MONITOR, incident, word, rise, text, &evidence).await?;
    store::slo_incidents::adopt(conn, incident, slo.key, seen.title).await?;
    event(conn, incident, if rise { "escalated" } else { "downgraded" }, text, now).await?;
    let what = Said { kind: NoticeKind::Moved, severity, previous: Some(before) };
    say(conn, slo, seen, incident, what, now).await
}

async fn close(
    conn: &mut PgConnection,
    slo: &SloRow,
    row: &IncidentRow,
    seen: &Seen,
    reason: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    let severity = Severity::from_name(&row.severity).unwrap_or(Severity::Degraded);
    let incident = row.incident;
    store::incidents::resolve(conn, NO_MONITOR, incident, now, now, Some(reason)).await?;
    event(conn, incident, "resolved", &seen.sentence, now).await?;
    let what = Said { kind: NoticeKind::Resolved, severity, previous: Some(severity) };
    say(conn, slo, seen, incident, what, now).await
}

async fn event(
    conn: &mut PgConnection,
    incident: Uuid,
    kind: &str,
    sentence: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    let nothing = json!({});
    store::incidents::add_event(conn, NO_MONITOR, incident, now, kind, None, sentence, &nothing)
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

/// Outbox rows for every channel that hears of it.
async fn say(
    conn: &mut PgConnection,
    slo: &SloRow,
    seen: &Seen,
    incident: Uuid,
    what: Said,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(row) = store::incidents::get(conn, NO_MONITOR, incident).await? else { return Ok(()) };
    let Said { kind, severity, previous } = what;
    let ended = kind.ends();
    let payload = Notice {
        kind,
        severity,
        previous_severity: previous,
        monitor: None,
        fleet: None,
        slo: Some(SloFacts {
            uid: slo.uid,
            name: slo.values.name.clone(),
            service: slo.values.service.clone(),
            owner: slo.values.owner.clone(),
            labels: text_map(&slo.values.labels),
            alert: seen.name.clone(),
            title: seen.title.to_owned(),
        }),
        platform: None,
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
        sentence: seen.sentence.clone(),
        locations: Vec::new(),
        scope: None,
        eligible: 0,
        needed: 0,
        down: 0,
        decided_at: now,
        collapsed: false,
    };
    let labels = text_map(&slo.values.labels);
    let own = Own { channels: slo.values.channels.clone(), escalation: None, labels };
    let told = escalate::Telling { monitor: NO_MONITOR, incident, fleet: None, own, payload };
    escalate::tell(conn, told, now).await
}
