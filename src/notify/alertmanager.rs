//! Alertmanager, as a Prometheus would push to it: labels say what, annotations say more.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use url::Url;

use super::{
    Content, Parcel,
    message::{self, Surroundings},
    webhook::instant,
};
use crate::domain::{
    channel::AlertmanagerConfig,
    notice::{Notice, NoticeKind, Severity},
};

/// Prometheus says again and again that an alert fires; we say it once, so it has to hold until we say
/// that it is over. An end that never arrives leaves it for so long.
const HOLDS: SignedDuration = SignedDuration::from_hours(7 * 24);

/// `…/api/v2/alerts` under the base, which may have a path of its own.
pub(super) fn address(config: &AlertmanagerConfig) -> Option<Url> {
    message::page(&config.url, "api/v2/alerts").and_then(|url| Url::parse(&url).ok())
}

/// The JSON that is posted; none for what is no alert.
pub(super) fn body(parcel: &Parcel<'_>, around: &Surroundings) -> Option<Value> {
    match parcel.content {
        Content::Notice(notice) => Some(Value::Array(alerts(notice, parcel.now, around))),
        // Over before it began: Alertmanager takes it and tells nobody.
        Content::Test { name } => Some(json!([{
            "labels": { "alertname": "QuorateTest", "channel": name, "severity": "info" },
            "annotations": { "summary": "This is a test. Nothing is down." },
            "startsAt": instant(parcel.now - SignedDuration::from_secs(60)),
            "endsAt": instant(parcel.now),
        }])),
        Content::Failover(_) | Content::Report(_) => None,
    }
}

/// Labels are what an alert is, and its severity is among them, for routing: so a move ends one alert and
/// begins another, and an end ends both. Alertmanager tells nobody of the end of what it never had.
fn alerts(notice: &Notice, now: Timestamp, around: &Surroundings) -> Vec<Value> {
    let fires = (!notice.kind.ends()).then(|| level(notice.severity));
    let first = notice.kind == NoticeKind::Opened;
    let levels = ["critical", "warning"].into_iter();
    let told = levels.filter(|level| !first || fires == Some(*level));
    told.map(|level| alert(notice, level, fires == Some(level), now, around)).collect()
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Down => "critical",
        Severity::Partial | Severity::Degraded => "warning",
    }
}

fn alert(
    notice: &Notice,
    level: &str,
    fires: bool,
    now: Timestamp,
    around: &Surroundings,
) -> Value {
    let told = message::compose(notice, around);
    let incident = &notice.incident;
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    let own = notice.monitor.as_ref().map(|monitor| &monitor.labels);
    for (name, value) in own.or(notice.slo.as_ref().map(|slo| &slo.labels)).into_iter().flatten() {
        labels.insert(label_name(name), value.clone());
    }
    labels.insert("alertname".into(), "QuorateIncident".into());
    labels.insert("incident".into(), incident.uid.to_string());
    labels.insert("severity".into(), level.to_owned());
    labels.insert("subject".into(), message::name(notice).to_owned());
    if let Some(monitor) = &notice.monitor {
        labels.insert("instance".into(), monitor.target.clone());
        labels.insert("group".into(), monitor.group.clone());
    }
    labels.retain(|_, value| !value.is_empty());
    let mut annotations = BTreeMap::from([
        ("summary", told.headline.clone()),
        ("description", told.sentence.clone()),
        ("state", notice.severity.name().to_owned()),
    ]);
    annotations.extend(told.first.clone().map(|first| ("first", first)));
    let runbook = notice.monitor.as_ref().and_then(|monitor| monitor.runbook_url.clone());
    annotations.extend(runbook.map(|url| ("runbook_url", url)));
    annotations.retain(|_, value| !value.is_empty());
    let end = match fires {
        true => now.saturating_add(HOLDS).unwrap_or(now),
        false => incident.ended_at.unwrap_or(notice.decided_at).min(now),
    };
    let mut alert = json!({
        "labels": labels,
        "annotations": annotations,
        "startsAt": instant(incident.started_at),
        "endsAt": instant(end.max(incident.started_at)),
    });
    if let Some(url) = message::incident_url(notice, around.public_url.as_ref()) {
        alert["generatorURL"] = url.into();
    }
    alert
}

/// `[a-zA-Z_][a-zA-Z0-9_]*`
fn label_name(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(fits).collect();
    match name.chars().next() {
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        _ => name,
    }
}
