//! PagerDuty, Events API v2: one alert for each incident, by its key.

use serde_json::{Map, Value, json};
use url::Url;

use super::{
    Content, Parcel,
    chat::cut,
    message::{self, Surroundings},
    webhook::instant,
};
use crate::domain::{
    channel::PagerDutyConfig,
    notice::{Notice, NoticeKind, Severity},
};

/// Limits of the API, in characters.
const SUMMARY: usize = 1_024;
const DETAIL: usize = 2_000;
const LINKS: usize = 10;

pub(super) fn address(config: &PagerDutyConfig) -> Option<Url> {
    config.server.join("./v2/enqueue").ok()
}

/// The JSON that is posted; none for what is no alert.
pub(super) fn body(routing_key: &str, parcel: &Parcel<'_>, around: &Surroundings) -> Option<Value> {
    let client = json!("Quorate");
    let client_url = around.public_url.as_ref().map(Url::as_str);
    match parcel.content {
        Content::Notice(notice) => {
            let links = message::compose(notice, around).links;
            let links = links.iter().take(LINKS);
            let links: Vec<Value> =
                links.map(|(label, url)| json!({ "href": url, "text": label })).collect();
            Some(json!({
                "routing_key": routing_key,
                "event_action": match notice.kind {
                    kind if kind.ends() => "resolve",
                    NoticeKind::Acknowledged => "acknowledge",
                    _ => "trigger",
                },
                "dedup_key": notice.incident.dedup_key(),
                "client": client,
                "client_url": client_url,
                "links": links,
                "payload": payload(notice, around),
            }))
        }
        // It closes itself at once: PagerDuty accepts it, and nobody is called.
        Content::Test { name } => Some(json!({
            "routing_key": routing_key,
            "event_action": "resolve",
            "dedup_key": format!("quorate:test:{}", parcel.id),
            "client": client,
            "client_url": client_url,
            "payload": {
                "summary": cut(&format!("Test of {name}: alerts will arrive here."), SUMMARY),
                "source": "Quorate",
                "severity": "info",
                "timestamp": instant(parcel.now),
            },
        })),
        Content::Failover(_) | Content::Report(_) => None,
    }
}

fn payload(notice: &Notice, around: &Surroundings) -> Value {
    let told = message::compose(notice, around);
    let mut details = Map::new();
    let mut detail = |label: &str, value: String| {
        if !value.is_empty() {
            details.insert(label.to_owned(), cut(&value, DETAIL).into());
        }
    };
    detail("Decision", told.sentence.clone());
    detail("First", told.first.clone().unwrap_or_default());
    for (label, value) in &told.facts {
        detail(label, value.clone());
    }
    for row in &told.rows {
        let parts = [row.vote.as_str(), &row.saw, &row.address];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        detail(&row.name, parts.join(" · "));
    }
    let kind = match notice.kind {
        NoticeKind::FlapStart => "flapping",
        NoticeKind::EvidenceWithdrawn => "in doubt",
        _ => notice.severity.name(),
    };
    let target = notice.monitor.as_ref().map(|monitor| monitor.target.as_str());
    json!({
        "summary": cut(&told.headline, SUMMARY),
        "source": cut(target.unwrap_or_else(|| message::name(notice)), 255),
        "severity": match notice.severity {
            Severity::Down => "critical",
            Severity::Partial => "error",
            Severity::Degraded => "warning",
        },
        "timestamp": instant(notice.decided_at),
        "component": cut(message::name(notice), 255),
        "group": notice.monitor.as_ref().map(|monitor| cut(&monitor.group, 255)),
        "class": kind,
        "custom_details": details,
    })
}
