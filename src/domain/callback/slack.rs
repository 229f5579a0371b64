//! Presses of buttons in Slack: a form with one field of JSON, signed together with the time of sending.

use jiff::Timestamp;
use serde_json::Value;
use url::form_urlencoded;

use super::{Act, Said, named, signed};
use crate::domain::secret::Secret;

/// What our button is called in what Slack sends.
pub const BUTTON: &str = "quorate_acknowledge";

/// How far a time of sending may be from now, in seconds: what is older was recorded and is sent again.
const WINDOW_S: u64 = 300;

/// Whether a body is Slack's and was sent just now; `sent` is the time of sending as the header tells it.
pub fn is_theirs(
    key: &Secret<String>,
    sent: &str,
    signature: &str,
    body: &[u8],
    now: Timestamp,
) -> bool {
    let Ok(seconds) = sent.parse::<i64>() else { return false };
    let recent = now.as_second().abs_diff(seconds) <= WINDOW_S;
    let parts: [&[u8]; 4] = [b"v0:", sent.as_bytes(), b":", body];
    recent && signature.strip_prefix("v0=").is_some_and(|hex| signed(key, &parts, hex))
}

/// What a press of a button says; none for one that is not ours to act on, such as a link's. An error says what
/// cannot be read.
pub fn read(body: &[u8]) -> Result<Option<Said>, &'static str> {
    let payload = form_urlencoded::parse(body).find(|(name, _)| name == "payload");
    let (_, payload) = payload.ok_or("The body has no field payload.")?;
    let payload: Value =
        serde_json::from_str(&payload).map_err(|_| "The field payload is not valid JSON.")?;
    if payload["type"] != "block_actions" {
        return Ok(None);
    }
    let actions = payload["actions"].as_array().ok_or("The payload has no actions.")?;
    let Some(action) = actions.iter().find(|action| action["action_id"] == BUTTON) else {
        return Ok(None);
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let incident = text(&action["value"]).and_then(|id| id.parse().ok());
    let incident = incident.ok_or("The button has no incident.")?;
    // Seconds with a fraction; presses of one button are told apart by it.
    let id = text(&action["action_ts"]).ok_or("The action has no action_ts.")?;
    let seconds: Option<f64> = id.parse().ok().filter(|s: &f64| s.is_finite() && s.abs() < 1e11);
    let at = seconds.and_then(|s| Timestamp::from_millisecond((s * 1_000.0) as i64).ok());
    let at = at.ok_or("The action's action_ts is no time.")?;
    let user = &payload["user"];
    let who = named(user["name"].as_str().or(user["username"].as_str()), "Slack");
    Ok(Some(Said { act: Act::Acknowledge, incident, who, id, at }))
}
