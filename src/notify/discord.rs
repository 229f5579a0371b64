//! Discord, by a webhook: one embed.

use serde_json::{Value, json};

use super::{
    chat::{colour, cut, rows},
    message::Message,
};

/// Discord counts at most 6,000 characters in an embed: 256 + 2,200 + 10 × (30 + 300) stay below.
const TITLE: usize = 256;
const DESCRIPTION: usize = 2_200;
const LINKS: usize = 4;
const FIELDS: usize = 10;
const NAME: usize = 30;
const VALUE: usize = 300;

/// The address to post to: with `wait`, Discord answers what became of the message.
pub(super) fn address(mut url: url::Url) -> url::Url {
    if !url.query_pairs().any(|(name, _)| name == "wait") {
        url.query_pairs_mut().append_pair("wait", "true");
    }
    url
}

/// The JSON that is posted.
pub(super) fn body(message: &Message) -> Value {
    let rows = rows(message);
    let mut text = Vec::new();
    text.extend((!message.sentence.is_empty()).then(|| escape(&message.sentence)));
    text.extend(message.first.as_deref().map(escape));
    text.extend((!rows.is_empty()).then(|| escape(&rows.join("\n"))));
    let links = message.links.iter().filter(|(_, url)| url.len() <= 300).take(LINKS);
    let links: Vec<String> = links.map(|(label, url)| format!("[{label}](<{url}>)")).collect();
    let links = links.join(" · ");
    // A long text is cut, never what leads on from it.
    let text = cut(&text.join("\n\n"), DESCRIPTION - LINKS * 330);
    let text = if links.is_empty() { text } else { format!("{text}\n\n{links}") };
    let facts = message.facts.iter().take(FIELDS);
    let facts: Vec<Value> = facts
        .map(|(label, value)| {
            let value = cut(&escape(value), VALUE);
            json!({ "name": cut(label, NAME), "value": value, "inline": value.len() < 40 })
        })
        .collect();
    json!({
        "content": cut(&escape(&message.subject), TITLE),
        "embeds": [{
            "title": cut(&escape(&message.headline), TITLE),
            "description": text,
            "color": u32::from_str_radix(colour(message.tone).trim_start_matches('#'), 16)
                .unwrap_or_default(),
            "fields": facts,
        }],
        // Whatever a monitor is called, nobody is mentioned by it.
        "allowed_mentions": { "parse": [] },
    })
}

/// Markdown is shown as it is.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '_' | '~' | '`' | '|' | '[' | ']' | '<' | '>' | '#' | '\\') {
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
    fn however_much_there_is_to_tell_it_fits_and_leads_on() {
        let mut notice = outage();
        notice.sentence = "*".repeat(20_000);
        if let Some(monitor) = &mut notice.monitor {
            monitor.labels = (0..50).map(|n| (format!("k{n}"), "_".repeat(200))).collect();
        }
        let around = message::Surroundings {
            public_url: "https://quorate.example/".parse().ok(),
            zone: jiff::tz::TimeZone::UTC,
        };
        let embed = body(&message::compose(&notice, &around))["embeds"][0].clone();
        let chars = |value: &Value| value.as_str().unwrap().chars().count();
        let fields = embed["fields"].as_array().unwrap();
        let fields = fields.iter().map(|field| chars(&field["name"]) + chars(&field["value"]));
        assert!(
            chars(&embed["title"]) + chars(&embed["description"]) + fields.sum::<usize>() <= 6_000
        );
        assert!(chars(&embed["description"]) <= 4_096);
        assert!(embed["description"].as_str().unwrap().contains("/incidents/"), "{embed}");
    }
}
