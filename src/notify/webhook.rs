//! Webhooks as Standard Webhooks describes them: signed, repeated with the same id, answered by a 2xx.
//!
//! The body is `{"type":"incident.opened","timestamp":"…","data":{…}}`; docs/webhooks.md describes it to
//! those who receive it.

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Value, json};
use sha2::Sha256;

use super::{
    Content, Parcel,
    message::{self, Surroundings},
    post::Post,
};
use crate::domain::{
    channel::{ChannelSecrets, WebhookConfig, key_bytes},
    notice::{LocationLine, Notice, NoticeKind, Prompt},
};

pub(super) fn request(
    config: &WebhookConfig,
    secrets: &ChannelSecrets,
    parcel: &Parcel<'_>,
    around: &Surroundings,
) -> Post {
    let body = body(parcel, around).to_string();
    let (id, seconds) = (parcel.id.to_string(), parcel.now.as_second());
    let mut post = Post::json(config.url.clone(), body);
    post.header("webhook-id", &id);
    post.header("webhook-timestamp", &seconds.to_string());
    if let Some(key) = secrets.key.as_ref().and_then(key_bytes) {
        let signature = sign(&key, &id, seconds, &post.body);
        post.header("webhook-signature", &signature);
    }
    post.with_secrets(secrets)
}

/// `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`.
fn sign(key: &[u8], id: &str, seconds: i64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(format!("{id}.{seconds}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

/// The JSON that is sent.
fn body(parcel: &Parcel<'_>, around: &Surroundings) -> Value {
    match parcel.content {
        Content::Report(document) => json!({
            "type": "report",
            "timestamp": instant(parcel.now),
            "data": { "version": 1, "report": document.report },
        }),
        Content::Test { name } => json!({
            "type": "test",
            "timestamp": instant(parcel.now),
            "data": {
                "version": 1,
                "headline": "This is a test.",
                "sentence": format!("Alerts that go to {name} will arrive here. Nothing is down."),
            },
        }),
        Content::Failover(notice) => json!({
            "type": "failover.changed",
            "timestamp": instant(notice.decided_at),
            "data": {
                "version": 1,
                "group": { "id": notice.group, "name": notice.name },
                "served": notice.served,
                "served_before": notice.served_before,
                "fail_open": notice.fail_open,
                "sentence": notice.sentence,
                "members": notice.members,
            },
        }),
        Content::Notice(notice) => json!({
            "type": event_type(notice.kind),
            "timestamp": instant(notice.decided_at),
            "data": data(notice, around),
        }),
    }
}

fn event_type(kind: NoticeKind) -> &'static str {
    match kind {
        NoticeKind::Opened | NoticeKind::AfterMaintenance => "incident.opened",
        NoticeKind::Reopened => "incident.reopened",
        NoticeKind::Moved => "incident.moved",
        NoticeKind::Resolved | NoticeKind::FlapEnd => "incident.resolved",
        NoticeKind::FlapStart => "incident.flapping",
        NoticeKind::EvidenceWithdrawn => "incident.evidence_withdrawn",
        NoticeKind::Reminder => "incident.reminder",
        NoticeKind::Acknowledged => "incident.acknowledged",
        NoticeKind::GroupUpdate => "incident.group_update",
    }
}

fn data(notice: &Notice, around: &Surroundings) -> Value {
    let incident = &notice.incident;
    let public = around.public_url.as_ref();
    let mut data = json!({
        "version": 1,
        "kind": notice.kind,
        "headline": message::headline(notice),
        "sentence": notice.sentence,
        "severity": notice.severity,
        "previous_severity": notice.previous_severity,
        "low_confidence": incident.low,
        "collapsed": notice.collapsed,
        "incident": {
            "id": incident.uid,
            "dedup_key": incident.dedup_key(),
            "subject": incident.subject,
            "started_at": instant(incident.started_at),
            "opened_at": instant(incident.opened_at),
            "ended_at": incident.ended_at.map(instant),
            "duration_s": notice.kind.ends().then(|| message::lasted(notice).as_secs()),
            "resolve_reason": incident.resolve_reason,
            "url": message::incident_url(notice, public),
        },
        "monitor": notice.monitor.as_ref().map(|monitor| json!({
            "id": monitor.uid,
            "name": monitor.name,
            "group": monitor.group,
            "target": monitor.target,
            "labels": monitor.labels,
            "runbook_url": monitor.runbook_url,
            "url": message::monitor_url(notice, public),
        })),
        "votes": { "eligible": notice.eligible, "needed": notice.needed, "down": notice.down },
        "scope": notice.scope,
        "locations": notice.locations.iter().map(location).collect::<Vec<_>>(),
    });
    if let Some(prompt) = &notice.prompt {
        data["prompt"] = prompt_of(prompt);
    }
    if let Some(fleet) = &notice.fleet {
        data["fleet"] = json!({
            "id": fleet.uid,
            "name": fleet.name,
            "url": message::fleet_url(notice, public),
            "findings": fleet.findings,
        });
    }
    if let Some(slo) = &notice.slo {
        data["slo"] = json!({
            "id": slo.uid,
            "name": slo.name,
            "service": slo.service,
            "owner": slo.owner,
            "labels": slo.labels,
            "alert": slo.alert,
            "url": message::slo_url(notice, public),
        });
    }
    if let Some(storm) = &notice.storm {
        data["group"] = json!(storm);
    }
    if let Some(certificate) = &notice.certificate {
        data["certificate"] = json!({
            "fingerprint": certificate.fingerprint,
            "names": certificate.names,
            "issuer": certificate.issuer,
            "not_after": instant(certificate.not_after),
            "days_left": certificate.days_left,
        });
    }
    if let Some(platform) = &notice.platform {
        data["platform"] = json!({ "cause": platform.cause, "title": platform.title });
    }
    data
}

fn prompt_of(prompt: &Prompt) -> Value {
    match prompt {
        Prompt::Step { policy, round, rounds, step, steps } => json!({
            "why": "step", "policy": policy, "round": round, "rounds": rounds, "step": step, "steps": steps,
        }),
        Prompt::Reminder { number } => json!({ "why": "reminder", "number": number }),
        Prompt::AckOver { sentence } => json!({ "why": "ack_over", "sentence": sentence }),
        Prompt::Acknowledged { by, until, note } => json!({
            "why": "acknowledged", "by": by, "until": instant(*until), "note": note,
        }),
    }
}

fn location(line: &LocationLine) -> Value {
    json!({
        "name": line.name,
        "region": line.region,
        "domain": line.domain,
        "vote": line.vote,
        "class": line.class,
        "saw": line.saw,
        "address": line.address,
        "simulated": line.simulated,
        "counts": line.uncounted.is_none(),
        "uncounted": line.uncounted,
    })
}

/// RFC 3339 in UTC with milliseconds.
pub(super) fn instant(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests;
