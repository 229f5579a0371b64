//! From what a look found to incidents, and to those who are told.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::PgConnection;
use uuid::Uuid;

use super::View;
use crate::domain::{
    certificate::{
        days_left,
        issuer::{self, Change},
        watch::{self, Act, Alarm, End},
        words,
    },
    escalation::route::Own,
    ids::MonitorKey,
    incident::Severity,
    notice::{CertificateFacts, IncidentFacts, Notice, NoticeKind},
    observation::Certificate,
};
use crate::store::{self, incidents::NewIncident};
use crate::triage::{effects, escalate};

/// Certificates are never more than this: what has ended fails the monitor itself.
const SEVERITY: Severity = Severity::Degraded;

/// One event as it is told.
struct Said {
    kind: NoticeKind,
    certificate: Certificate,
    /// What is wrong, in words that go on after the monitor's name.
    title: String,
    /// How it is over, in words of the same kind; only with an end that came by itself.
    over: Option<String>,
    sentence: String,
}

/// Does and tells what a look found about one certificate.
pub(super) async fn act(
    conn: &mut PgConnection,
    key: MonitorKey,
    view: &View,
    alarms: &BTreeMap<String, (Alarm, Uuid)>,
    act: &Act,
    now: Timestamp,
) -> sqlx::Result<()> {
    match act {
        Act::Warn { fingerprint, threshold } => {
            let Some(certificate) = view.facts.get(fingerprint) else { return Ok(()) };
            let known = alarms.get(fingerprint);
            let alarm = Alarm {
                days: *threshold,
                not_after: certificate.not_after,
                in_part: watch::is_mixed(fingerprint, &view.sights),
                open: true,
            };
            let (incident, kind) = match known {
                Some((alarm, incident)) if alarm.open => (*incident, NoticeKind::Moved),
                Some((_, incident)) => (*incident, NoticeKind::Reopened),
                None => (store::id_at(now), NoticeKind::Opened),
            };
            store::certificates::put_alarm(conn, key, fingerprint, &alarm, incident, now).await?;
            let said = Said {
                kind,
                title: words::title(certificate.not_after, now),
                over: None,
                sentence: words::sentence(certificate, &view.sights, now),
                certificate: certificate.clone(),
            };
            let subject = format!("certificate:{{}}:{}", short(fingerprint));
            write(conn, key, incident, &subject, &said, now).await?;
            say(conn, key, incident, said, now).await
        }
        Act::InPart { fingerprint } => {
            let (Some(certificate), Some((alarm, incident))) =
                (view.facts.get(fingerprint), alarms.get(fingerprint))
            else {
                return Ok(());
            };
            let alarm = Alarm { in_part: true, ..alarm.clone() };
            store::certificates::put_alarm(conn, key, fingerprint, &alarm, *incident, now).await?;
            let said = Said {
                kind: NoticeKind::Moved,
                title: "does not show its renewed certificate everywhere".to_owned(),
                over: None,
                sentence: words::sentence(certificate, &view.sights, now),
                certificate: certificate.clone(),
            };
            write(conn, key, *incident, "", &said, now).await?;
            say(conn, key, *incident, said, now).await
        }
        Act::End { fingerprint, how } => {
            let Some((_, incident)) = alarms.get(fingerprint) else { return Ok(()) };
            let Some(certificate) = told(conn, key, *incident).await? else { return Ok(()) };
            let (reason, over, sentence) = match how {
                End::Renewed => (
                    "renewed",
                    "shows a renewed certificate",
                    words::renewed(&certificate, &view.sights),
                ),
                End::Gone => (
                    "no longer shown",
                    "no longer shows the certificate that was about to end",
                    "No location is shown this certificate any more.".to_owned(),
                ),
                End::Later => (
                    "not near its end",
                    "shows a certificate that is not near its end",
                    "Its end is further away than the days at which it is told.".to_owned(),
                ),
            };
            let over = Some(over.to_owned());
            close(conn, (key, *incident), certificate, (reason, over), sentence, now).await
        }
    }
}

/// Tells that certificates come from another issuer: an incident that is over at once, so that it is one notice.
pub(super) async fn issuer(
    conn: &mut PgConnection,
    key: MonitorKey,
    view: &View,
    change: &Change,
    now: Timestamp,
) -> sqlx::Result<()> {
    let is_new = |one: &&Certificate| !change.before.contains(&issuer::name(&one.issuer));
    let Some(certificate) = view.facts.values().find(is_new).cloned() else { return Ok(()) };
    let title = "shows a certificate of another issuer".to_owned();
    let sentence = words::issuer_changed(change, &certificate);
    let incident = store::id_at(now);
    let said = Said {
        kind: NoticeKind::Opened,
        certificate: certificate.clone(),
        title: title.clone(),
        over: None,
        sentence: sentence.clone(),
    };
    write(conn, key, incident, "certificate:{}:issuer", &said, now).await?;
    store::certificates::set_title(conn, key, incident, &title).await?;
    say(conn, key, incident, said, now).await?;
    let over = ("told once", Some(title));
    close(conn, (key, incident), certificate, over, sentence, now).await
}

/// Closes an open incident by hand, in the caller's transaction, which holds the monitor's lock. It opens again
/// when the end of the certificate is closer by a threshold.
pub async fn resolve(
    conn: &mut PgConnection,
    key: MonitorKey,
    incident: Uuid,
    by: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(certificate) = told(conn, key, incident).await? else { return Ok(()) };
    let sentence = format!("{by} closed it.");
    close(conn, (key, incident), certificate, ("closed by hand", None), sentence, now).await
}

/// Closes what is open of a monitor that is paused or deleted. If its certificates are seen again as they are,
/// that is told again.
pub(in crate::triage) async fn end(
    conn: &mut PgConnection,
    key: MonitorKey,
    reason: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    for (alarm, incident) in store::certificates::alarms(conn, key).await?.into_values() {
        let certificate = told(conn, key, incident).await?.filter(|_| alarm.open);
        let Some(certificate) = certificate else { continue };
        let sentence = format!("The monitor was {reason}; its certificates are not looked at.");
        close(conn, (key, incident), certificate, (reason, None), sentence, now).await?;
    }
    store::certificates::drop_alarms(conn, key).await
}

/// How an open incident about a certificate looks now, for what is told of it as time passes.
pub(in crate::triage) async fn look_again(
    conn: &mut PgConnection,
    key: MonitorKey,
    incident: Uuid,
    now: Timestamp,
) -> sqlx::Result<Option<(Notice, Own)>> {
    let Some(certificate) = told(conn, key, incident).await? else { return Ok(None) };
    let Some(watched) = store::certificates::watched(conn, key).await? else { return Ok(None) };
    let view = View::read(conn, key, &watched, now).await?;
    let certificate = view.facts.get(&certificate.fingerprint).cloned().unwrap_or(certificate);
    let said = Said {
        kind: NoticeKind::Reminder,
        title: words::title(certificate.not_after, now),
        over: None,
        sentence: words::sentence(&certificate, &view.sights, now),
        certificate,
    };
    payload(conn, key, incident, said, now).await
}

/// Brings the sentence of an open incident up to the day, which is no news. What is told of it next says so too.
pub(super) async fn rewrite(
    conn: &mut PgConnection,
    key: MonitorKey,
    view: &View,
    fingerprint: &str,
    incident: Uuid,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(certificate) = view.facts.get(fingerprint) else { return Ok(()) };
    let Some(row) = store::incidents::get(conn, key, incident).await? else { return Ok(()) };
    let sentence = words::sentence(certificate, &view.sights, now);
    if sentence == row.sentence {
        return Ok(());
    }
    let evidence = json!({ "certificate": certificate });
    let severity = SEVERITY.name();
    store::incidents::shift(conn, key, incident, severity, false, &sentence, &evidence).await?;
    if let Some(mut plan) = store::incident_plans::lock(conn, key, incident).await?
        && let Some((payload, _)) = look_again(conn, key, incident, now).await?
    {
        plan.payload = payload;
        store::incident_plans::save(conn, key, incident, &plan).await?;
    }
    store::wake::notify(conn, "state").await
}

/// Opens, opens again or rewrites an incident. `subject` holds `{}` for the monitor's id.
async fn write(
    conn: &mut PgConnection,
    key: MonitorKey,
    incident: Uuid,
    subject: &str,
    said: &Said,
    now: Timestamp,
) -> sqlx::Result<()> {
    let evidence = json!({ "certificate": said.certificate });
    let (severity, sentence) = (SEVERITY.name(), &said.sentence);
    let word = match said.kind {
        NoticeKind::Opened => {
            let uid = store::triage_read::facts(conn, key).await?.uid;
            let new = NewIncident {
                incident,
                monitor: key,
                subject: subject.replace("{}", &uid.to_string()),
                severity,
                started_at: now,
                opened_at: now,
                low: false,
                suppressed: false,
                sentence: sentence.clone(),
                evidence,
            };
            store::incidents::open(conn, &new).await?;
            "opened"
        }
        NoticeKind::Reopened => {
            store::incidents::reopen(conn, key, incident, severity, false, sentence, &evidence)
                .await?;
            "reopened"
        }
        _ => {
            store::incidents::shift(conn, key, incident, severity, false, sentence, &evidence)
                .await?;
            "closer"
        }
    };
    let title = words::lasting_title(said.certificate.not_after);
    store::certificates::set_title(conn, key, incident, &title).await?;
    event(conn, key, incident, word, sentence, now).await
}

async fn close(
    conn: &mut PgConnection,
    (key, incident): (MonitorKey, Uuid),
    certificate: Certificate,
    (reason, over): (&str, Option<String>),
    sentence: String,
    now: Timestamp,
) -> sqlx::Result<()> {
    store::incidents::resolve(conn, key, incident, now, now, Some(reason)).await?;
    event(conn, key, incident, "resolved", &sentence, now).await?;
    let title = match &over {
        Some(over) if reason == "told once" => over.clone(),
        _ => words::title(certificate.not_after, now),
    };
    let said = Said { kind: NoticeKind::Resolved, certificate, title, over, sentence };
    say(conn, key, incident, said, now).await
}

async fn event(
    conn: &mut PgConnection,
    key: MonitorKey,
    incident: Uuid,
    kind: &str,
    sentence: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    store::incidents::add_event(conn, key, incident, now, kind, None, sentence, &json!({})).await?;
    store::wake::notify(conn, "state").await
}

/// Outbox rows for every channel that hears of it.
async fn say(
    conn: &mut PgConnection,
    key: MonitorKey,
    incident: Uuid,
    said: Said,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some((payload, own)) = payload(conn, key, incident, said, now).await? else {
        return Ok(());
    };
    let told = escalate::Telling { monitor: key, incident, fleet: None, own, payload };
    escalate::tell(conn, told, now).await
}

async fn payload(
    conn: &mut PgConnection,
    key: MonitorKey,
    incident: Uuid,
    said: Said,
    now: Timestamp,
) -> sqlx::Result<Option<(Notice, Own)>> {
    let Some(row) = store::incidents::get(conn, key, incident).await? else { return Ok(None) };
    let (monitor, own) = effects::about(store::triage_read::facts(conn, key).await?);
    let (ended, begins) = (said.kind.ends(), said.kind == NoticeKind::Opened);
    let certificate = said.certificate;
    let payload = Notice {
        kind: said.kind,
        severity: SEVERITY,
        previous_severity: (!begins).then_some(SEVERITY),
        monitor: Some(monitor),
        fleet: None,
        slo: None,
        platform: None,
        certificate: Some(CertificateFacts {
            title: said.title,
            over: said.over,
            days_left: days_left(certificate.not_after, now),
            not_after: certificate.not_after,
            names: certificate.names,
            issuer: issuer::name(&certificate.issuer),
            fingerprint: certificate.fingerprint,
        }),
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
        sentence: said.sentence,
        locations: Vec::new(),
        scope: None,
        eligible: 0,
        needed: 0,
        down: 0,
        decided_at: now,
        collapsed: false,
    };
    Ok(Some((payload, own)))
}

/// The certificate that an incident is about, as it was told.
async fn told(
    conn: &mut PgConnection,
    key: MonitorKey,
    incident: Uuid,
) -> sqlx::Result<Option<Certificate>> {
    store::certificates::of_incident(conn, key, incident).await?.map(facts).transpose()
}

/// A certificate as it is stored.
pub(super) fn facts(value: Value) -> sqlx::Result<Certificate> {
    serde_json::from_value(value).map_err(|e| sqlx::Error::Decode(e.into()))
}

/// The first part of a fingerprint: enough to tell the certificates of one monitor apart.
fn short(fingerprint: &str) -> &str {
    fingerprint.get(..16).unwrap_or(fingerprint)
}
