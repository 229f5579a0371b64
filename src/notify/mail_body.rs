//! How a message looks in mail: plain text and simple HTML, light and dark, nothing loaded from afar.

use std::fmt::Write;

use super::message::{Message, Tone};

/// Lines of at most about 100 characters where we choose the breaks ourselves.
pub(super) fn text(message: &Message) -> String {
    let mut out = format!("{}\n", message.headline);
    if !message.sentence.is_empty() {
        let _ = writeln!(out, "\n{}", message.sentence);
    }
    let mut section = |title: Option<&str>, lines: Vec<String>| {
        if lines.is_empty() {
            return;
        }
        out.push('\n');
        if let Some(title) = title {
            let _ = writeln!(out, "{title}");
        }
        for line in lines {
            let _ = writeln!(out, "{}", line.trim_end());
        }
    };
    section(None, message.first.iter().cloned().collect());
    section(None, columns(message.facts.iter().map(|(label, value)| vec![*label, value])));
    let rows = message.rows.iter().map(|row| {
        vec![row.name.as_str(), row.vote.as_str(), row.address.as_str(), row.saw.as_str()]
    });
    let rows = columns(rows).into_iter().map(|line| format!("  {line}")).collect();
    section(Some("What the locations see"), rows);
    section(None, columns(message.links.iter().map(|(label, url)| vec![*label, url])));
    out
}

/// Cells under each other, two blanks apart; the last column is ragged, empty columns vanish.
fn columns<'a>(rows: impl Iterator<Item = Vec<&'a str>>) -> Vec<String> {
    let rows: Vec<Vec<&str>> = rows.collect();
    let count = rows.first().map_or(0, Vec::len);
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    rows.iter()
        .map(|row| {
            let cells = row.iter().zip(&widths).filter(|(_, width)| **width > 0);
            let padded = cells.map(|(cell, width)| format!("{cell:<width$}"));
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        })
        .collect()
}

const STYLE: &str = "\
:root{color-scheme:light dark;supported-color-schemes:light dark}\
body{margin:0;padding:24px 16px;background:#f5f6f7;color:#14181c;\
font:14px/20px -apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}\
.card{max-width:640px;margin:0 auto;background:#ffffff;border:1px solid #d8dce0;border-radius:6px;padding:20px}\
h1{margin:0 0 12px;font-size:20px;line-height:28px;font-weight:600}\
p{margin:0 0 12px}\
table{border-collapse:collapse;margin:0 0 16px}\
td,th{text-align:left;vertical-align:top;padding:4px 12px 4px 0;font-weight:normal}\
.rows{width:100%}.rows td,.rows th{border-top:1px solid #d8dce0}\
.quiet{color:#5f6872}\
a{color:inherit}\
.up{color:#17665c}.degraded{color:#7a5500}.partial{color:#9c420a}.down{color:#b01f18}\
@media (prefers-color-scheme:dark){\
body{background:#0f1215;color:#e9ecef}\
.card{background:#161a1e;border-color:#2d343b}\
.rows td,.rows th{border-color:#2d343b}\
.quiet{color:#929ba5}\
.up{color:#62c2b3}.degraded{color:#e6b94f}.partial{color:#f59b62}.down{color:#ff8278}}";

pub(super) fn html(message: &Message) -> String {
    let tone = match message.tone {
        Tone::Up => "up",
        Tone::Degraded => "degraded",
        Tone::Partial => "partial",
        Tone::Down => "down",
    };
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>{}</title><style>{STYLE}</style></head>\n<body><div class=\"card\">\n\
         <h1 class=\"{tone}\">{}</h1>\n",
        escape(&message.subject),
        escape(&message.headline)
    );
    if !message.sentence.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", escape(&message.sentence));
    }
    if let Some(first) = &message.first {
        let _ = writeln!(out, "<p><strong>{}</strong></p>", escape(first));
    }
    html_table(&mut out, message);
    if !message.facts.is_empty() {
        out.push_str("<table>\n");
        for (label, value) in &message.facts {
            let _ = writeln!(
                out,
                "<tr><th class=\"quiet\">{}</th><td>{}</td></tr>",
                escape(label),
                escape(value)
            );
        }
        out.push_str("</table>\n");
    }
    if !message.links.is_empty() {
        let links = message
            .links
            .iter()
            .map(|(label, url)| format!("<a href=\"{}\">{}</a>", escape(url), escape(label)));
        let _ = writeln!(out, "<p>{}</p>", links.collect::<Vec<_>>().join(" &middot; "));
    }
    out.push_str("</div></body></html>\n");
    out
}

fn html_table(out: &mut String, message: &Message) {
    if message.rows.is_empty() {
        return;
    }
    out.push_str(
        "<table class=\"rows\">\n<tr class=\"quiet\"><th>Location</th><th>Vote</th>\
         <th>Saw</th><th>Reached</th></tr>\n",
    );
    for row in &message.rows {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&row.name),
            escape(&row.vote),
            escape(&row.saw),
            escape(&row.address)
        );
    }
    out.push_str("</table>\n");
}

/// Text inside HTML and inside quoted attributes. Addresses that are no web addresses cannot come in:
/// links are made from parsed URLs.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
