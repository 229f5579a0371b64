//! Microsoft Teams, by the address of a workflow: one Adaptive Card.

use serde_json::{Value, json};

use super::{
    chat::{cut, rows},
    message::{Message, Tone},
};

/// Teams takes 28 KB.
const BYTES: usize = 27_000;
/// Characters of a text, as many as fit; a value has a fifth of that.
const TEXTS: [usize; 4] = [2_000, 1_000, 500, 250];
const FACTS: usize = 15;

/// The JSON that is posted.
pub(super) fn body(message: &Message) -> Value {
    let fits = |body: &Value| body.to_string().len() <= BYTES;
    let largest = TEXTS.iter().map(|text| card(message, *text)).find(fits);
    largest.unwrap_or_else(|| card(message, 100))
}

fn card(message: &Message, text: usize) -> Value {
    let value = text / 5;
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
        card.push(json!({ "type": "TextBlock", "text": plain(line, text), "wrap": true }));
    }
    for row in rows(message) {
        card.push(json!({
            "type": "TextBlock", "text": plain(&row, value), "wrap": true, "spacing": "Small",
        }));
    }
    let facts = message.facts.iter().take(FACTS);
    let facts: Vec<Value> =
        facts.map(|(label, told)| json!({ "title": label, "value": plain(told, value) })).collect();
    if !facts.is_empty() {
        card.push(json!({ "type": "FactSet", "facts": facts }));
    }
    let links = message.links.iter().take(5);
    let links: Vec<Value> = links
        .filter(|(_, url)| url.len() <= 1_000)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notify::{message, sample::outage};

    #[test]
    fn however_much_there_is_to_tell_the_card_fits() {
        let mut notice = outage();
        notice.sentence = "障害".repeat(20_000);
        let line = notice.locations[0].clone();
        notice.locations = vec![line; 40];
        for line in &mut notice.locations {
            line.saw = "応答なし[*]".repeat(2_000);
        }
        if let Some(monitor) = &mut notice.monitor {
            monitor.name = "監視".repeat(100);
            monitor.labels = (0..50).map(|n| (format!("k{n}"), "値".repeat(200))).collect();
        }
        let around = message::Surroundings { public_url: None, zone: jiff::tz::TimeZone::UTC };
        let sent = body(&message::compose(&notice, &around));
        assert!(sent.to_string().len() <= BYTES);
        let texts = sent.pointer("/attachments/0/content/body").unwrap().as_array().unwrap();
        assert!(texts.len() > 3, "{sent}");
    }
}
