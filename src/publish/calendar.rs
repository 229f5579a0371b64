//! Planned work as a calendar to subscribe to (RFC 5545): one event for each occurrence, in UTC.

use jiff::Timestamp;

use crate::domain::Millis;
use crate::domain::slo::window::DAY;

/// How far ahead occurrences are told.
pub const AHEAD: Millis = 90 * DAY;

/// Longest line, in octets without its end.
const LINE: usize = 75;

/// A calendar of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct Calendar {
    pub name: String,
    /// Makes ids unique beyond this server: its name.
    pub host: String,
    pub events: Vec<Event>,
}

/// One occurrence.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Of the maintenance; with its start it is the occurrence's own.
    pub id: String,
    pub start: Millis,
    pub end: Millis,
    pub title: String,
    pub description: String,
    pub url: Option<String>,
    /// Counts the changes.
    pub sequence: u32,
    pub changed_at: Millis,
    /// Told as cancelled instead of left out, so that calendars take it away.
    pub cancelled: bool,
}

/// `text/calendar; charset=utf-8`: what is not over and begins within 90 days.
pub fn ics(calendar: &Calendar, now: Millis) -> String {
    let mut out = String::new();
    line(&mut out, "BEGIN:VCALENDAR");
    line(&mut out, "VERSION:2.0");
    line(&mut out, "PRODID:-//Quorate//Maintenance//EN");
    line(&mut out, "CALSCALE:GREGORIAN");
    line(&mut out, &format!("NAME:{}", text(&calendar.name)));
    line(&mut out, &format!("X-WR-CALNAME:{}", text(&calendar.name)));
    line(&mut out, "REFRESH-INTERVAL;VALUE=DURATION:PT1H");
    line(&mut out, "X-PUBLISHED-TTL:PT1H");
    let due = |event: &&Event| event.end > now && event.start < now.saturating_add(AHEAD);
    for event in calendar.events.iter().filter(due) {
        event_lines(&mut out, event, &calendar.host, now);
    }
    line(&mut out, "END:VCALENDAR");
    out
}

fn event_lines(out: &mut String, event: &Event, host: &str, now: Millis) {
    line(out, "BEGIN:VEVENT");
    let uid = format!("{}-{}@{host}", event.id, utc(event.start));
    line(out, &format!("UID:{}", text(&uid)));
    line(out, &format!("DTSTAMP:{}", utc(now)));
    line(out, &format!("LAST-MODIFIED:{}", utc(event.changed_at)));
    line(out, &format!("SEQUENCE:{}", event.sequence));
    line(out, &format!("DTSTART:{}", utc(event.start)));
    line(out, &format!("DTEND:{}", utc(event.end)));
    let status = if event.cancelled { "CANCELLED" } else { "CONFIRMED" };
    line(out, &format!("STATUS:{status}"));
    line(out, &format!("SUMMARY:{}", text(&event.title)));
    if !event.description.is_empty() {
        line(out, &format!("DESCRIPTION:{}", text(&event.description)));
    }
    if let Some(url) = &event.url {
        let url: String = url.chars().filter(|c| !c.is_control()).collect();
        line(out, &format!("URL:{url}"));
    }
    line(out, "CATEGORIES:MAINTENANCE");
    line(out, "TRANSP:TRANSPARENT");
    line(out, "END:VEVENT");
}

/// A line with its end, folded where it is too long: never within a character.
fn line(out: &mut String, content: &str) {
    let mut used = 0;
    for c in content.chars() {
        if used + c.len_utf8() > LINE {
            out.push_str("\r\n ");
            used = 1;
        }
        out.push(c);
        used += c.len_utf8();
    }
    out.push_str("\r\n");
}

/// A value of type TEXT.
fn text(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.replace("\r\n", "\n").chars() {
        match c {
            '\\' | ';' | ',' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// `20261006T122108Z`.
fn utc(at: Millis) -> String {
    let at = Timestamp::from_millisecond(at).unwrap_or_default();
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}
