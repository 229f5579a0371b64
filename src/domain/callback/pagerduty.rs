//! PagerDuty's webhooks, version 3: one event in each, signed over the whole body.

use serde_json::Value;

use super::{Act, Said, named, signed};
use crate::domain::secret::Secret;

/// Whether a body is PagerDuty's. While it changes its key it signs with the old and the new one and sends both,
/// separated by commas.
pub fn is_theirs(key: &Secret<String>, header: &str, body: &[u8]) -> bool {
    let ours =
        |one: &str| one.trim().strip_prefix("v1=").is_some_and(|hex| signed(key, &[body], hex));
    header.split(',').any(ours)
}

/// What an event says of an incident of ours; none for one that says nothing to us, an answer to a test among them.
/// An error says what cannot be read.
pub fn read(body: &[u8]) -> Result<Option<Said>, &'static str> {
    let body: Value = serde_json::from_slice(body).map_err(|_| "The body is not valid JSON.")?;
    let event = &body["event"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let kind = text(&event["event_type"]).ok_or("The body has no event.event_type.")?;
    let act = match kind.as_str() {
        "incident.acknowledged" => Act::Acknowledge,
        "incident.unacknowledged" => Act::TakeBack,
        "incident.resolved" => Act::Close,
        _ => return Ok(None),
    };
    // The key under which we told of the incident ends in its id; other tools' incidents have other keys.
    let key = text(&event["data"]["incident_key"]).unwrap_or_default();
    let ours = key.strip_prefix("quorate:").and_then(|rest| rest.rsplit(':').next());
    let Some(incident) = ours.and_then(|id| id.parse().ok()) else { return Ok(None) };
    let id = text(&event["id"]).ok_or("The body has no event.id.")?;
    let at = text(&event["occurred_at"]).and_then(|at| at.parse().ok());
    let at = at.ok_or("The body has no event.occurred_at that is a time.")?;
    let who = named(event["agent"]["summary"].as_str(), "PagerDuty");
    Ok(Some(Said { act, incident, who, id, at }))
}
