//! What messages in chats have in common: how much fits, and what is said in which order.

use super::message::{Message, Tone};

/// Locations that are listed; the incident's page has all.
const ROWS: usize = 12;

/// As many characters as fit, an ellipsis for the rest.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// The same in bytes, as some services count.
pub(super) fn cut_bytes(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", text[..end].trim_end())
}

/// One line for each location, failing ones first; how many are left out.
pub(super) fn rows(message: &Message) -> Vec<String> {
    let line = |parts: [&str; 4]| {
        let told: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        told.join(" · ")
    };
    let mut lines: Vec<String> = message
        .rows
        .iter()
        .take(ROWS)
        .map(|row| line([&row.name, &row.vote, &row.saw, &row.address]))
        .collect();
    if message.rows.len() > ROWS {
        lines.push(format!("and {} more", message.rows.len() - ROWS));
    }
    lines
}

/// The whole message as plain lines, most important first.
pub(super) fn plain(message: &Message) -> String {
    let mut parts = Vec::new();
    parts.push(message.headline.clone());
    parts.extend((!message.sentence.is_empty()).then(|| message.sentence.clone()));
    parts.extend(message.first.clone());
    let rows = rows(message);
    parts.extend((!rows.is_empty()).then(|| rows.join("\n")));
    let facts = message.facts.iter().map(|(label, value)| format!("{label}: {value}"));
    let facts: Vec<String> = facts.collect();
    parts.extend((!facts.is_empty()).then(|| facts.join("\n")));
    parts.join("\n\n")
}

/// The colour beside the words, as `#rrggbb`.
pub(super) fn colour(tone: Tone) -> &'static str {
    match tone {
        Tone::Up => "#17665c",
        Tone::Degraded => "#b07d00",
        Tone::Partial => "#c8571b",
        Tone::Down => "#b01f18",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_ends_in_an_ellipsis() {
        assert_eq!(cut("état", 4), "état");
        assert_eq!(cut("états", 4), "éta…");
        assert_eq!(cut_bytes("éééé", 8), "éééé");
        assert_eq!(cut_bytes("éééé", 7), "éé…");
        assert_eq!(cut("", 0), "");
    }
}
