//! One observation as text: the verdict, then the reason, then details, last what to do.

use jiff::tz::TimeZone;
use serde_json::Value;

use super::bars::{self, label, span};
use crate::cli::term::{Ink, Mark, Term, columns, cut_middle, pad, thousands, wrap, wrap_after};
use crate::domain::observation::{Certificate, Class, Judged, Observation, Outcome};

/// From this width on, facts and conditions stand side by side.
const WIDE: usize = 120;
/// Where conditions begin then.
const SECOND_COLUMN: usize = 78;
/// Labels of facts alone in their lines, and beside conditions, where there is no room for all names of a
/// certificate.
const NARROW_LABEL: usize = 12;
const WIDE_LABEL: usize = 13;
/// Sentences end a little before the edge.
const EDGE: usize = 2;
const BODY_LINES: usize = 5;

pub(super) fn draw(term: &Term, seen: &Observation, slow_ms: Option<u32>) -> String {
    let mut out = headline(term, seen, slow_ms);
    match (seen.outcome, seen.class) {
        (Outcome::Error, Some(Class::BlockedAddress)) => {}
        (Outcome::Fail, Some(Class::Status | Class::Assertion)) => {
            out.push('\n');
            out.push_str(&hops(term, seen));
            out.push_str(&conditions(term, seen, term.width).join("\n"));
            out.push('\n');
            out.push_str(&body(term, seen));
        }
        (Outcome::Pass, _) => {
            out.push('\n');
            out.push_str(&hops(term, seen));
            out.push_str(&bars::draw(term, seen));
            out.push('\n');
            out.push_str(&facts_and_conditions(term, seen));
        }
        (_, class) => {
            out.push('\n');
            out.push_str(&hops(term, seen));
            out.push_str(&bars::draw(term, seen));
            out.push('\n');
            for fact in facts(term, seen, term.width, NARROW_LABEL) {
                out.push_str(&fact);
                out.push('\n');
            }
            out.push_str(&unseen(term, seen));
            out.push_str(&advice(term, class));
        }
    }
    let mut text: String =
        term.text(&out).lines().flat_map(|line| [line.trim_end(), "\n"]).collect();
    // A part that had nothing to say leaves no gap.
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text
}

/// `● Pass  HTTP 200 in 118 ms from 203.0.113.74`
fn headline(term: &Term, seen: &Observation, slow_ms: Option<u32>) -> String {
    let total = span(u64::from(seen.phases_us.total)).replace(' ', "\u{a0}");
    let status = seen.status.map_or_else(String::new, |status| format!("HTTP\u{a0}{status}"));
    let slow = slow_ms.filter(|slow| u64::from(seen.phases_us.total) > u64::from(*slow) * 1_000);
    let from = seen.address.as_deref().map_or_else(String::new, |ip| format!(" from {ip}"));
    // Kinds without a status say the time alone.
    let in_total = format!("{status} in {total}").trim_start().to_owned();
    let (mark, word, sentence) = match (seen.outcome, slow) {
        (Outcome::Pass, None) => (Mark::Up, "Pass", format!("{in_total}{from}")),
        (Outcome::Pass, Some(slow)) => (
            Mark::Slow,
            "Slow",
            format!("{in_total}{from}, slower than {}\u{a0}ms", thousands(u64::from(slow))),
        ),
        (Outcome::Fail, _) => (Mark::Down, "Fail", failure(seen, &in_total)),
        (Outcome::Error, _) => (Mark::Unknown, "Error", flags_apart(&safe(&seen.message))),
    };
    let symbol = mark.symbol(false);
    let first = format!("{symbol} {word}  ");
    let text = wrap_after(&first, &sentence, term.width - EDGE);
    let painted = format!("{}  ", term.paint(mark.ink(), &format!("{symbol} {word}")));
    format!("{painted}{}\n", text.get(first.len()..).unwrap_or_default())
}

fn failure(seen: &Observation, in_total: &str) -> String {
    match seen.class {
        Some(Class::Status | Class::Assertion) => {
            let failed =
                seen.assertions.iter().filter(|judged| judged.holds == Some(false)).count();
            let verb =
                if failed == 1 { "condition does not hold" } else { "conditions do not hold" };
            let of = seen.assertions.len();
            let verb = if failed == 1 && of > 1 { "conditions does not hold" } else { verb };
            format!("{in_total}, but {failed} of {of} {verb}.")
        }
        Some(class) => {
            let message = safe(&seen.message);
            format!("{} ({}).", message.trim_end_matches('.'), class.name())
        }
        None => safe(&seen.message),
    }
}

/// The flag to add stands a little apart and is never broken.
fn flags_apart(message: &str) -> String {
    ["--allow-net", "--allow-port"].iter().fold(message.to_owned(), |text, flag| {
        text.replace(&format!(" {flag} "), &format!("\u{a0} {flag}\u{a0}"))
    })
}

fn hops(term: &Term, seen: &Observation) -> String {
    if seen.hops.is_empty() {
        return String::new();
    }
    let mut out = String::new();
    for (index, hop) in seen.hops.iter().enumerate() {
        let head = format!("hop {}", index + 1);
        let time = span(u64::from(hop.duration_us));
        let room = term.width.saturating_sub(columns(&head) + columns(&time) + 14);
        let way = format!("{} → {}", safe(&hop.url), safe(&hop.location));
        out.push_str(&format!(
            "  {}  {} {}  {time}\n",
            term.paint(Ink::Dim, &head),
            hop.status,
            cut_middle(&way, room)
        ));
    }
    out.push('\n');
    out
}

fn facts_and_conditions(term: &Term, seen: &Observation) -> String {
    let right = conditions(term, seen, term.width - SECOND_COLUMN + 2);
    let fits = right.iter().all(|line| visible(line) <= term.width - SECOND_COLUMN + 2);
    if term.width >= WIDE && fits {
        let left = facts(term, seen, SECOND_COLUMN - 4, WIDE_LABEL);
        let rows = left.len().max(right.len());
        let lines: Vec<String> = (0..rows)
            .map(|row| {
                let left = left.get(row).map_or("", String::as_str);
                // A condition's line brings its own margin of two columns.
                let right =
                    right.get(row).map_or("", |line| line.strip_prefix("  ").unwrap_or(line));
                let gap = SECOND_COLUMN.saturating_sub(visible(left));
                if right.is_empty() {
                    left.to_owned()
                } else {
                    format!("{left}{}{right}", " ".repeat(gap))
                }
            })
            .collect();
        return lines.join("\n") + "\n";
    }
    let mut out = facts(term, seen, term.width, NARROW_LABEL).join("\n");
    out.push_str("\n\n");
    out.push_str(&conditions(term, seen, term.width).join("\n"));
    out.push('\n');
    out
}

/// Columns without escape codes.
fn visible(line: &str) -> usize {
    let mut count = 0;
    let mut escape = false;
    for c in line.chars() {
        match (escape, c) {
            (false, '\u{1b}') => escape = true,
            (true, 'm') => escape = false,
            (true, _) => {}
            (false, _) => count += 1,
        }
    }
    count
}

/// Address, protocol, answer and certificate, a line or two each.
fn facts(term: &Term, seen: &Observation, width: usize, label_width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut fact = |name: &str, text: String| {
        for (index, line) in
            wrap(&text, width.saturating_sub(label_width + 2)).into_iter().enumerate()
        {
            let head =
                if index == 0 { label(term, name, label_width) } else { pad("", label_width) };
            lines.push(format!("  {head}{line}"));
        }
    };
    if let Some(address) = &seen.address {
        fact("address", address_text(address, seen));
    }
    if let Some(version) = &seen.http_version {
        let tls =
            seen.certificate.as_ref().and_then(|certificate| certificate.tls_version.as_deref());
        fact(
            "protocol",
            format!("HTTP/{version}{}", tls.map_or_else(String::new, |tls| format!(", {tls}"))),
        );
    }
    if let Some(size) = seen.size {
        fact("answer", answer_text(seen, size));
    }
    // What the kind of check found beside; a label that repeats stands once.
    let mut before = "";
    for found in seen.evidence.iter().flat_map(|evidence| &evidence.facts) {
        let label = if found.label == before { "" } else { found.label.as_str() };
        before = &found.label;
        fact(label, safe(&found.value));
    }
    if let Some(certificate) = &seen.certificate {
        let fails = seen.outcome != Outcome::Pass;
        let about_it = matches!(seen.class, Some(class) if class.name().starts_with("tls_"));
        for (index, line) in
            certificate_text(term, certificate, label_width == NARROW_LABEL, fails && !about_it)
                .into_iter()
                .enumerate()
        {
            fact(if index == 0 { "certificate" } else { "" }, line);
        }
    }
    lines
}

fn address_text(address: &str, seen: &Observation) -> String {
    let family = if address.contains(':') { "IPv6" } else { "IPv4" };
    let resolved =
        seen.evidence.as_ref().map(|evidence| evidence.resolved.as_slice()).unwrap_or_default();
    let others: Vec<&str> =
        resolved.iter().map(String::as_str).filter(|ip| *ip != address).collect();
    match (seen.phases_us.resolve, others.len()) {
        (None, _) => format!("{address} ({family}), as it was given"),
        (Some(_), _) if resolved.is_empty() => format!("{address} ({family})"),
        (Some(_), 0) => format!("{address} ({family}), the only one"),
        (Some(_), count @ 1..=3) => {
            format!("{address} ({family}), of {}: also {}, not used", count + 1, others.join(", "))
        }
        (Some(_), count) => {
            let shown = others.iter().take(2).copied().collect::<Vec<_>>().join(", ");
            format!(
                "{address} ({family}), of {}: also {shown} and {} more, not used",
                count + 1,
                count - 2
            )
        }
    }
}

fn answer_text(seen: &Observation, size: u64) -> String {
    let headers = seen.evidence.as_ref().map(|evidence| &evidence.headers);
    let content_type =
        headers.and_then(|headers| headers.get("content-type")).and_then(|values| values.first());
    let bytes = format!("{} {}", thousands(size), if size == 1 { "byte" } else { "bytes" });
    match content_type {
        Some(content_type) => format!("{}, {bytes}", safe(content_type)),
        None => bytes,
    }
}

fn certificate_text(
    term: &Term,
    certificate: &Certificate,
    in_full: bool,
    aside: bool,
) -> Vec<String> {
    let days = match certificate.days_left {
        1 => "1\u{a0}day left".to_owned(),
        days @ 0.. => format!("{days}\u{a0}days left"),
        days => format!("ended {}\u{a0}days ago", days.unsigned_abs()),
    };
    let days = match certificate.days_left {
        ..7 => term.paint(Ink::Down, &days),
        7..30 => term.paint(Ink::Slow, &days),
        _ => days,
    };
    let subject = safe(&common_name(&certificate.subject));
    if aside {
        return vec![format!("{subject}, {days}; it is not the cause")];
    }
    let zone: TimeZone = term.zone();
    let ends = certificate.not_after.to_zoned(zone).strftime("%a %-d %b %Y %H:%M %Z").to_string();
    let mut lines = vec![format!("{subject}, {days}, ends {ends}")];
    if in_full {
        let mut names =
            certificate.names.iter().take(4).map(|name| safe(name)).collect::<Vec<_>>().join(", ");
        if certificate.names.len() > 4 {
            names.push_str(&format!(" and {} more", certificate.names.len() - 4));
        }
        let names = if names.is_empty() { String::new() } else { format!(", for {names}") };
        lines.push(format!(
            "by {}, chain of {}{names}",
            safe(&common_name(&certificate.issuer)),
            certificate.chain_length
        ));
    }
    lines
}

/// `C=DE, CN=R3` as `R3`.
fn common_name(name: &str) -> String {
    name.split(", ").find_map(|part| part.strip_prefix("CN=")).unwrap_or(name).to_owned()
}

/// The head line of conditions, unless they explain a failure, and a line for each.
fn conditions(term: &Term, seen: &Observation, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if seen.outcome == Outcome::Pass && !seen.assertions.is_empty() {
        let hold = seen.assertions.iter().filter(|judged| judged.holds == Some(true)).count();
        lines.push(format!(
            "  {}{hold} of {} hold",
            label(term, "conditions", 12),
            seen.assertions.len()
        ));
    }
    lines.extend(table(term, &seen.assertions, width));
    lines
}

/// Mark, subject, operator, value, what was there.
fn table(term: &Term, judged: &[Judged], width: usize) -> Vec<String> {
    let narrow = width < 60;
    let rows: Vec<(&Judged, String, String, String)> = judged
        .iter()
        .map(|judged| {
            (judged, safe(&subject(judged)), safe(&wanted(judged)), safe(&actual(judged)))
        })
        .collect();
    let widest = |of: fn(&(&Judged, String, String, String)) -> usize| {
        rows.iter().map(of).max().unwrap_or(0)
    };
    let first = (widest(|row| columns(&row.1)) + 2).clamp(12, 26);
    let op = (widest(|row| columns(&row.0.op)) + 2).max(4);
    let value = (widest(|row| columns(&row.2)) + 2).clamp(if narrow { 12 } else { 18 }, 30);
    rows.iter()
        .map(|(judged, subject, wanted, actual)| {
            let mark = match judged.holds {
                Some(true) => Mark::Up,
                Some(false) => Mark::Down,
                None => Mark::Unknown,
            };
            let room = width.saturating_sub(5 + first + op + value).max(8);
            let actual = cut_middle(actual, room);
            let actual =
                if judged.holds == Some(false) { term.paint(Ink::Bold, &actual) } else { actual };
            format!(
                "  {}  {}{}{}{actual}",
                term.paint(mark.ink(), &mark.symbol(false).to_string()),
                pad(&cut_middle(subject, first - 2), first),
                pad(&judged.op, op),
                pad(&cut_middle(wanted, value - 2), value),
            )
        })
        .collect()
}

fn subject(judged: &Judged) -> String {
    judged.on.strip_suffix("_ms").unwrap_or(&judged.on).replace('_', " ")
}

fn wanted(judged: &Judged) -> String {
    let one = |value: &Value| match value {
        Value::String(text) if judged.on == "status" => text.clone(),
        other => other.to_string(),
    };
    let text = match &judged.value {
        Value::Null if matches!(judged.op.as_str(), "exists" | "absent") => String::new(),
        Value::Array(items) if matches!(judged.op.as_str(), "in" | "not_in") => {
            items.iter().map(one).collect::<Vec<_>>().join(" ")
        }
        other => one(other),
    };
    if judged.on == "latency_ms" { format!("{text} ms") } else { text }
}

/// Milliseconds are rounded as long as that hides nothing.
fn actual(judged: &Judged) -> String {
    match (
        judged.on.as_str(),
        judged.holds,
        judged.actual.strip_suffix(" ms").and_then(|text| text.parse::<f64>().ok()),
    ) {
        ("latency_ms", Some(true), Some(ms)) => span((ms * 1_000.0) as u64),
        _ => judged.actual.clone(),
    }
}

/// What could not be looked at is unknown, not failed.
fn unseen(term: &Term, seen: &Observation) -> String {
    let looked_at = seen.assertions.iter().filter(|judged| judged.holds.is_some()).count();
    let text = if seen.assertions.is_empty() {
        return String::new();
    } else if looked_at == 0 {
        "none could be looked at: there was no answer".to_owned()
    } else {
        format!(
            "{looked_at} of {} could be looked at: the answer did not come whole",
            seen.assertions.len()
        )
    };
    let mut out = format!("  {}{text}\n", label(term, "conditions", 12));
    for line in table(term, &seen.assertions, term.width) {
        out.push_str(&line);
        out.push('\n');
    }
    out
}

fn advice(term: &Term, class: Option<Class>) -> String {
    let Some(class) = class else { return String::new() };
    let first = "  Look first at  ";
    let text = wrap_after(first, &format!("{}.", class.look_first()), term.width - EDGE);
    let place = if class.side() == Outcome::Fail {
        let sentence = "One place only: this says nothing about what others reach.";
        format!("{}\n", wrap_after("  ", sentence, term.width - EDGE))
    } else {
        String::new()
    };
    format!(
        "\n  {}  {}\n{place}",
        term.paint(Ink::Dim, "Look first at"),
        text.get(first.len()..).unwrap_or_default()
    )
}

fn body(term: &Term, seen: &Observation) -> String {
    let Some(body) = seen.evidence.as_ref().and_then(|evidence| evidence.body.as_deref()) else {
        return String::new();
    };
    let mut out = format!(
        "\n  {}  {}\n",
        term.paint(Ink::Dim, "body"),
        answer_text(seen, seen.size.unwrap_or_default())
    );
    for line in body.lines().filter(|line| !line.trim().is_empty()).take(BODY_LINES) {
        let line: String = safe(line).chars().take(term.width - 8).collect();
        out.push_str(&format!("        {line}\n"));
    }
    out
}

/// What strangers sent must not steer the terminal: control characters become dots.
fn safe(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') { '·' } else { c }).collect()
}

#[cfg(test)]
mod tests;
