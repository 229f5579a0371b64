//! What happened on a page, for readers of RSS 2.0 and of Atom.

use std::fmt::Write;

use jiff::Timestamp;

use crate::domain::Millis;

/// A feed of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct Feed {
    pub title: String,
    /// Address of the page.
    pub url: String,
    /// Address of the feed itself.
    pub feed_url: String,
    pub updated_at: Millis,
    /// The newest first.
    pub entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Never changes, and is of this entry alone: readers tell by it what they have shown.
    pub id: String,
    pub title: String,
    pub url: String,
    pub published_at: Millis,
    pub updated_at: Millis,
    /// Plain text.
    pub text: String,
}

/// `application/rss+xml`.
pub fn rss(feed: &Feed) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<rss version=\"2.0\" xmlns:atom=\"http://www.w3.org/2005/Atom\">\n<channel>\n",
    );
    element(&mut out, "title", &feed.title);
    element(&mut out, "link", &feed.url);
    element(&mut out, "description", &feed.title);
    let _ = writeln!(
        out,
        "<atom:link href=\"{}\" rel=\"self\" type=\"application/rss+xml\"/>",
        escaped(&feed.feed_url)
    );
    element(&mut out, "lastBuildDate", &mail_date(feed.updated_at));
    for entry in &feed.entries {
        out.push_str("<item>\n");
        element(&mut out, "title", &entry.title);
        element(&mut out, "link", &entry.url);
        let _ = writeln!(out, "<guid isPermaLink=\"false\">{}</guid>", escaped(&entry.id));
        element(&mut out, "pubDate", &mail_date(entry.published_at));
        element(&mut out, "description", &entry.text);
        out.push_str("</item>\n");
    }
    out.push_str("</channel>\n</rss>\n");
    out
}

/// `application/atom+xml`.
pub fn atom(feed: &Feed) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n",
    );
    element(&mut out, "title", &feed.title);
    element(&mut out, "id", &feed.feed_url);
    element(&mut out, "updated", &day_time(feed.updated_at));
    let _ = writeln!(out, "<link rel=\"self\" href=\"{}\"/>", escaped(&feed.feed_url));
    let _ = writeln!(out, "<link rel=\"alternate\" href=\"{}\"/>", escaped(&feed.url));
    let _ = writeln!(out, "<author><name>{}</name></author>", escaped(&feed.title));
    for entry in &feed.entries {
        out.push_str("<entry>\n");
        element(&mut out, "title", &entry.title);
        element(&mut out, "id", &entry.id);
        let _ = writeln!(out, "<link rel=\"alternate\" href=\"{}\"/>", escaped(&entry.url));
        element(&mut out, "published", &day_time(entry.published_at));
        element(&mut out, "updated", &day_time(entry.updated_at));
        element(&mut out, "content", &entry.text);
        out.push_str("</entry>\n");
    }
    out.push_str("</feed>\n");
    out
}

fn element(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "<{name}>{}</{name}>", escaped(text));
}

/// As text or an attribute of XML 1.0, which has no way to write most control characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

/// RFC 822, as RSS has it: `Tue, 06 Oct 2026 12:21:08 GMT`.
fn mail_date(at: Millis) -> String {
    let at = Timestamp::from_millisecond(at).unwrap_or_default();
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

fn day_time(at: Millis) -> String {
    let at = Timestamp::from_millisecond(at).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
