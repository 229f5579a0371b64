//! ntfy: a push message by topic, published as JSON.

use serde_json::{Value, json};

use super::{
    chat::{cut_bytes, plain},
    message::{Message, Tone},
};
use crate::domain::channel::NtfyConfig;

/// ntfy turns longer messages into attachments, which phones do not show at once.
const TEXT: usize = 3_900;

/// The JSON that is posted to the server's root.
pub(super) fn body(config: &NtfyConfig, message: &Message) -> Value {
    let (priority, tag) = match message.tone {
        Tone::Down => (5, "red_circle"),
        Tone::Partial => (4, "orange_circle"),
        Tone::Degraded => (3, "yellow_circle"),
        Tone::Up => (3, "green_circle"),
    };
    let mut body = json!({
        "topic": config.topic,
        "title": cut_bytes(&message.subject, 250),
        "message": cut_bytes(&plain(message), TEXT),
        "priority": priority,
        "tags": [tag],
    });
    if let Some((_, url)) = message.links.first() {
        body["click"] = url.as_str().into();
    }
    // More than three are not shown.
    let links = message.links.iter().take(3);
    let actions: Vec<Value> =
        links.map(|(label, url)| json!({ "action": "view", "label": label, "url": url })).collect();
    if !actions.is_empty() {
        body["actions"] = actions.into();
    }
    body
}
