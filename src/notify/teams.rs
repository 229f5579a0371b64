//! Microsoft Teams, by the address of a workflow: one Adaptive Card.

use serde_json::{Value, json};

use super::{
    chat::{cut, rows},
    message::{Message, Tone},
};

/// Teams takes 28 KB; the parts are cut so that the whole stays below.
const TEXT: usize = 2_000;
const FACTS: usize = 15;
const VALUE: usize = 400;

/// The JSON that is posted.
pub(super) fn body(message: &Message) -> Value {
    let mut card = vec![json!({
        "type": "TextBlock",
        "text": plain(&message.headline, 500),
        "size": "Large",
        "weight": "Bolder",
        "color": colour(message.tone),
        "wrap": true,
    })];
    let lines = [Some(&message.sentence), message.first.as_ref()];
    for line in lines.into_iter().flatten().filter(|line| !line.is_empty()) {
        card.push(json!({ "type": "TextBlock", "text": plain(line, TEXT), "wrap": true }));
    }
    for row in rows(message) {
        card.push(json!({
            "type": "TextBlock", "text": plain(&row, VALUE), "wrap": true, "spacing": "Small",
        }));
    }
    let facts = message.facts.iter().take(FACTS);
    let facts: Vec<Value> = facts
        .map(|(label, value)| json!({ "title": label, "value": plain(value, VALUE) }))
        .collect();
    if !facts.is_empty() {
        card.push(json!({ "type": "FactSet", "facts": facts }));
    }
    let links = message.links.iter().take(5);
    let links: Vec<Value> = links
        .map(|(label, url)| json!({ "type": "Action.OpenUrl", "title": label, "url": url }))
        .collect();
    json!({
        "type": "message",
        "summary": cut(&message.subject, 250),
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "msteams": { "width": "Full" },
                "body": card,
                "actions": links,
            },
        }],
    })
}

fn colour(tone: Tone) -> &'static str {
    match tone {
        Tone::Up => "Good",
        Tone::Degraded | Tone::Partial => "Warning",
        Tone::Down => "Attention",
    }
}

/// Cards read a part of Markdown: what would make a link or a list is shown as it is.
fn plain(text: &str, most: usize) -> String {
    let mut out = String::new();
    for c in cut(text, most).chars() {
        if matches!(c, '[' | ']' | '*' | '_' | '`' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
