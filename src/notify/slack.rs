//! Slack, by an incoming webhook: Block Kit within a coloured attachment.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    chat::{colour, cut, rows},
    message::Message,
};
use crate::domain::callback::slack::BUTTON;

/// Of one section; of one field; fields of a section; buttons of a row.
const SECTION: usize = 2_900;
const FIELD: usize = 1_900;
const FIELDS: usize = 10;
const BUTTONS: usize = 5;

/// The JSON that is posted; with a button that acknowledges an incident, where it is heard when it is pressed.
pub(super) fn body(message: &Message, acknowledges: Option<Uuid>) -> Value {
    let mut blocks = vec![section(&format!("*{}*", escape(&message.headline)))];
    if !message.sentence.is_empty() {
        blocks.push(section(&escape(&message.sentence)));
    }
    if let Some(first) = &message.first {
        blocks.push(section(&escape(first)));
    }
    let rows = rows(message);
    if !rows.is_empty() {
        blocks.push(section(&escape(&rows.join("\n"))));
    }
    let facts = message.facts.iter().take(FIELDS).map(|(label, value)| {
        json!({ "type": "mrkdwn", "text": cut(&format!("*{label}*\n{}", escape(value)), FIELD) })
    });
    let facts: Vec<Value> = facts.collect();
    if !facts.is_empty() {
        blocks.push(json!({ "type": "section", "fields": facts }));
    }
    let links = message.links.iter().filter(|(_, url)| url.len() <= 3_000).take(BUTTONS);
    let mut buttons: Vec<Value> = links
        .map(|(label, url)| {
            json!({ "type": "button", "text": { "type": "plain_text", "text": label }, "url": url })
        })
        .collect();
    if let Some(incident) = acknowledges {
        buttons.insert(buttons.len().min(1), acknowledge(incident));
        buttons.truncate(BUTTONS);
    }
    if !buttons.is_empty() {
        blocks.push(json!({ "type": "actions", "elements": buttons }));
    }
    json!({
        // What notifications and screen readers tell.
        "text": cut(&escape(&message.subject), SECTION),
        "attachments": [{ "color": colour(message.tone), "blocks": blocks }],
        "unfurl_links": false,
        "unfurl_media": false,
    })
}

fn acknowledge(incident: Uuid) -> Value {
    json!({
        "type": "button",
        "text": { "type": "plain_text", "text": "Acknowledge" },
        "action_id": BUTTON,
        "value": incident,
    })
}

fn section(text: &str) -> Value {
    json!({ "type": "section", "text": { "type": "mrkdwn", "text": cut(text, SECTION) } })
}

/// The three characters that Slack reads as more than text, so that no name mentions everybody.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
