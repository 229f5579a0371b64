//! Webhooks as Standard Webhooks describes them: signed, repeated with the same id, answered by a 2xx.
//!
//! The body is `{"type":"incident.opened","timestamp":"…","data":{…}}`; docs/webhooks.md describes it to
//! those who receive it.

use std::{error::Error, io, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use serde_json::{Value, json};
use sha2::Sha256;

use super::{
    Content, Parcel, Sent, Verdict,
    message::{self, Surroundings},
};
use crate::{
    domain::{
        channel::{ChannelSecrets, WebhookConfig, key_bytes},
        notice::{LocationLine, Notice, NoticeKind},
        redactor::Redactor,
    },
    net::{GuardedClient, SendError},
};

/// How much of the other side's answer is kept.
const ANSWER_BYTES: usize = 1024;

/// How long the text of an answer is waited for; its status has decided already.
const ANSWER_TIME: Duration = Duration::from_secs(2);

/// The system's roots and those in `extra` (PEM).
pub(super) fn tls(extra: Option<&str>) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for root in CertificateDer::pem_slice_iter(extra.unwrap_or_default().as_bytes()) {
        let root =
            root.map_err(|e| rustls::Error::General(format!("the extra authorities: {e}")))?;
        roots.add(root)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

pub(super) async fn send(
    client: &GuardedClient,
    config: &WebhookConfig,
    secrets: &ChannelSecrets,
    parcel: &Parcel<'_>,
    around: &Surroundings,
) -> Sent {
    let body = body(parcel, around).to_string();
    let (id, seconds) = (parcel.id.to_string(), parcel.now.as_second());
    let mut request = client
        .request(reqwest::Method::POST, config.url.clone())
        .header("content-type", "application/json")
        .header("user-agent", concat!("Quorate/", env!("CARGO_PKG_VERSION")))
        .header("webhook-id", &id)
        .header("webhook-timestamp", seconds.to_string());
    if let Some(key) = secrets.key.as_ref().and_then(key_bytes) {
        request = request.header("webhook-signature", sign(&key, &id, seconds, &body));
    }
    for (name, value) in &secrets.headers {
        request = request.header(name, value.expose());
    }
    let hidden =
        secrets.headers.values().chain(&secrets.key).map(|secret| secret.expose().as_str());
    let redactor = Redactor::new(hidden);
    let place = place(&config.url);
    let request = match request.body(body).build() {
        Ok(request) => request,
        Err(e) => {
            return Sent::new(
                Verdict::Never,
                format!("the request to {place} cannot be made: {e}"),
            );
        }
    };
    match client.send(request).await {
        Ok(response) => judge(response, &place, parcel.now, &redactor).await,
        Err(SendError::Blocked(blocked)) => {
            Sent::later(format!("{place}: {}", blocked.by_coordinator()))
        }
        Err(SendError::Http(error)) => Sent::later(explain(&error, &place)),
    }
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
    data
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
fn instant(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Host and port, for sentences: the rest of a URL may hold a token.
fn place(url: &url::Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

async fn judge(
    response: reqwest::Response,
    place: &str,
    now: Timestamp,
    redactor: &Redactor,
) -> Sent {
    let status = response.status();
    let after = response
        .headers()
        .get("retry-after")
        .and_then(|value| value.to_str().ok())
        .and_then(|text| retry_after(text, now));
    let moved =
        response.headers().get("location").and_then(|value| value.to_str().ok()).map(|to| {
            format!("; it points to {}, but redirects are not followed", redactor.url(to))
        });
    let text = answer_text(response).await;
    let text = redactor.clean_prefix(text.trim(), ANSWER_BYTES);
    let said = if text.is_empty() { String::new() } else { format!(": {text}") };
    let reason = status.canonical_reason().unwrap_or("");
    let line = format!("{} {reason}", status.as_u16());
    let line = line.trim();
    match status.as_u16() {
        200..=299 => Sent::new(Verdict::Delivered, format!("{line}{said}")),
        300..=399 => {
            let moved = moved.unwrap_or_default();
            Sent::new(Verdict::Later { after }, format!("{place} answers {line}{moved}{said}"))
        }
        400 | 401 | 403 | 404 => {
            Sent::new(Verdict::Never, format!("{place} refuses it with {line}{said}"))
        }
        410 => Sent::new(Verdict::Gone, format!("{place} answers {line}{said}")),
        _ => Sent::new(Verdict::Later { after }, format!("{place} answers {line}{said}")),
    }
}

/// The beginning of the answer's text; what does not come in time is left out.
async fn answer_text(mut response: reqwest::Response) -> String {
    let mut bytes = Vec::new();
    let read = async {
        // A little more than is kept, so that a secret at the edge is seen as a whole.
        while bytes.len() < 2 * ANSWER_BYTES {
            match response.chunk().await {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Ok(None) | Err(_) => break,
            }
        }
    };
    let _ = tokio::time::timeout(ANSWER_TIME, read).await;
    bytes.truncate(2 * ANSWER_BYTES);
    String::from_utf8_lossy(&bytes).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Seconds, or an HTTP date.
fn retry_after(text: &str, now: Timestamp) -> Option<SignedDuration> {
    let text = text.trim();
    if let Ok(secs) = text.parse::<u32>() {
        return Some(SignedDuration::from_secs(i64::from(secs)));
    }
    let at = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(at.duration_since(now).max(SignedDuration::ZERO))
}

/// Why no answer came, in a sentence.
fn explain(error: &reqwest::Error, place: &str) -> String {
    if error.is_timeout() {
        return format!("{place} did not answer in time");
    }
    let mut causes: Vec<String> = Vec::new();
    let mut next: Option<&dyn Error> = error.source();
    while let Some(cause) = next {
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            match io.kind() {
                io::ErrorKind::ConnectionRefused => {
                    return format!("{place} refuses the connection");
                }
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof => {
                    return format!("{place} closed the connection before it answered");
                }
                _ => {}
            }
        }
        causes.push(cause.to_string());
        next = cause.source();
    }
    // The innermost cause says most; the outer ones repeat the URL, which may hold a token.
    match causes.last() {
        Some(cause) if cause.contains("connection closed before message completed") => {
            format!("{place} closed the connection before it answered")
        }
        Some(cause) => format!("{place} cannot be reached: {cause}"),
        None => format!("{place} cannot be reached"),
    }
}

#[cfg(test)]
mod tests;
