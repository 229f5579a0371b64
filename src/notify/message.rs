//! What a notice says, for every channel: pure, and the same sentences as in the UI.
//!
//! [`compose`] turns a notice into a [`Message`], which knows nothing of mail or chat. How it looks in
//! mail is `mail_body`; webhooks carry facts rather than sentences, see `webhook`.

mod failover;
mod group;
mod links;
mod prompt;

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use url::Url;

use crate::domain::{
    notice::{FleetFacts, LocationLine, Notice, NoticeKind, Severity},
    observation::Class,
};

use self::links::links;
pub use self::{
    failover::compose_failover,
    links::{fleet_url, incident_url, monitor_url, page, slo_url},
};

/// Where links lead and in which zone times are told (UTC is always given too).
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Without it messages hold no links.
    pub public_url: Option<Url>,
    pub zone: TimeZone,
}

/// A message in parts, ready to be laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// One line: state and subject stem. All subjects of an incident end in the same stem.
    pub subject: String,
    /// `checkout is down.`
    pub headline: String,
    pub tone: Tone,
    /// The verdict as the incident's page words it; may be empty.
    pub sentence: String,
    /// Label and value.
    pub facts: Vec<(&'static str, String)>,
    pub rows: Vec<Row>,
    /// What to do first.
    pub first: Option<String>,
    /// Label and address.
    pub links: Vec<(&'static str, String)>,
}

/// The colour of a message; the words say it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Up,
    Degraded,
    Partial,
    Down,
}

/// What one location says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub name: String,
    /// `Down`, `Up` …, or `Not counted: quarantined`.
    pub vote: String,
    pub saw: String,
    pub address: String,
}

/// The message that tells a notice.
pub fn compose(notice: &Notice, around: &Surroundings) -> Message {
    Message {
        subject: format!("{}: {}", state(notice), subject_stem(notice, &around.zone)),
        headline: headline(notice),
        tone: tone(notice),
        sentence: notice.sentence.clone(),
        facts: facts(notice, around),
        rows: rows(&notice.locations),
        first: first(notice),
        links: links(notice, around),
    }
}

/// What a test of a channel says. It looks like no alert, so that nobody runs.
pub fn compose_test(channel: &str, now: Timestamp, around: &Surroundings) -> Message {
    Message {
        subject: format!("Test of {channel}"),
        headline: "This is a test.".into(),
        tone: Tone::Up,
        sentence: format!("Alerts that go to {channel} will arrive here. Nothing is down."),
        facts: vec![("Sent", instant(now, &around.zone))],
        rows: Vec::new(),
        first: None,
        links: around.public_url.iter().map(|url| ("Quorate", url.to_string())).collect(),
    }
}

/// What stays the same in every subject of one incident, so that mail programs keep them together.
fn subject_stem(notice: &Notice, zone: &TimeZone) -> String {
    let began = notice.incident.started_at.to_zoned(zone.clone());
    format!("{}, {}", name(notice), began.strftime("%-d %b %H:%M %Z"))
}

/// The monitor's name, the fleet's, the SLO's, our own, or the subject of an incident about none of them.
pub fn name(notice: &Notice) -> &str {
    match (&notice.monitor, &notice.fleet, &notice.slo) {
        (Some(monitor), _, _) => &monitor.name,
        (None, Some(fleet), _) => &fleet.name,
        (None, None, Some(slo)) => &slo.name,
        (None, None, None) if notice.platform.is_some() => "Quorate",
        (None, None, None) => &notice.incident.subject,
    }
}

/// What an SLO, a certificate or Quorate itself does that is wrong; it goes on after the name.
fn predicate(notice: &Notice) -> Option<&str> {
    let of_slo = notice.slo.as_ref().map(|slo| slo.title.as_str());
    let of_certificate = notice.certificate.as_ref().map(|one| one.title.as_str());
    let of_platform = notice.platform.as_ref().map(|platform| platform.title.as_str());
    of_slo.or(of_certificate).or(of_platform)
}

/// In front of the subject: one or two words, or what is wrong in a fleet, with an SLO or with Quorate itself.
fn state(notice: &Notice) -> Cow<'_, str> {
    let alone = notice.kind.begins() || notice.kind == NoticeKind::Acknowledged;
    if let (Some(storm), false) = (&notice.storm, alone) {
        return Cow::Owned(group::state(storm));
    }
    let title = notice.fleet.as_ref().and_then(FleetFacts::title).or_else(|| predicate(notice));
    match (title, notice.kind) {
        (_, NoticeKind::Reminder | NoticeKind::Acknowledged) => Cow::Borrowed(state_word(notice)),
        (Some(title), kind) if !kind.ends() || notice.collapsed => sentence_case(title),
        _ => Cow::Borrowed(state_word(notice)),
    }
}

/// Begins with a capital, unless it begins with the name of an instance: those hold digits or marks.
fn sentence_case(title: &str) -> Cow<'_, str> {
    let first = title.split(' ').next().unwrap_or_default();
    if first.is_empty() || !first.chars().all(|c| c.is_ascii_lowercase()) {
        return Cow::Borrowed(title);
    }
    Cow::Owned(format!("{}{}", title[..1].to_ascii_uppercase(), &title[1..]))
}

fn state_word(notice: &Notice) -> &'static str {
    match notice.kind {
        NoticeKind::Resolved | NoticeKind::FlapEnd if !recovered(notice) => "Closed",
        NoticeKind::Resolved if notice.certificate.is_some() => "Renewed",
        NoticeKind::Resolved if notice.fleet.is_some() || predicate(notice).is_some() => {
            "As usual again"
        }
        NoticeKind::Resolved | NoticeKind::FlapEnd if notice.collapsed => match notice.severity {
            Severity::Down => "Was down",
            Severity::Partial => "Was partly down",
            Severity::Degraded => "Was degraded",
        },
        NoticeKind::Resolved | NoticeKind::FlapEnd => "Up again",
        NoticeKind::FlapStart => "Flapping",
        NoticeKind::EvidenceWithdrawn => "In doubt",
        NoticeKind::Reminder => "Still open",
        NoticeKind::Acknowledged => "Acknowledged",
        NoticeKind::Opened
        | NoticeKind::Reopened
        | NoticeKind::Moved
        | NoticeKind::AfterMaintenance
        | NoticeKind::GroupUpdate => match notice.severity {
            Severity::Down if notice.fleet.is_some() => "Failing",
            Severity::Partial if notice.fleet.is_some() => "Failing in part",
            Severity::Degraded if notice.fleet.is_some() => "Not as usual",
            Severity::Down => "Down",
            Severity::Partial => "Partly down",
            Severity::Degraded => "Degraded",
        },
    }
}

/// What happened, in one sentence.
pub fn headline(notice: &Notice) -> String {
    if let Some(prompt) = &notice.prompt {
        return prompt::headline(notice, prompt);
    }
    let name = name(notice);
    let is = adjective(notice, notice.severity);
    if let (Some(storm), false) = (&notice.storm, notice.kind.begins()) {
        return group::headline(storm, notice);
    }
    if let Some(title) = notice.fleet.as_ref().and_then(FleetFacts::title) {
        match notice.kind {
            NoticeKind::Opened => return format!("{name}: {title}."),
            NoticeKind::Reopened => return format!("{name}, again: {title}."),
            NoticeKind::AfterMaintenance => {
                return format!("{name}, still after the maintenance: {title}.");
            }
            NoticeKind::Moved => {
                let still = match notice.previous_severity {
                    Some(before) if before > notice.severity => {
                        format!("no longer {}, but still {is}", adjective(notice, before))
                    }
                    _ => format!("now {is}"),
                };
                return format!("{name} is {still}: {title}.");
            }
            _ => {}
        }
    }
    if let Some(title) = predicate(notice) {
        match notice.kind {
            NoticeKind::Reopened => return format!("{name} {title} again."),
            NoticeKind::Moved => return format!("{name} now {title}."),
            kind if !kind.ends() => return format!("{name} {title}."),
            _ => {}
        }
    }
    match notice.kind {
        NoticeKind::Opened | NoticeKind::Acknowledged | NoticeKind::GroupUpdate => {
            format!("{name} is {is}.")
        }
        NoticeKind::Reminder => format!("{name} is still {is}."),
        NoticeKind::Reopened => format!("{name} is {is} again."),
        NoticeKind::Moved => match notice.previous_severity {
            Some(before) if before > notice.severity => {
                format!("{name} is no longer {}, but still {is}.", adjective(notice, before))
            }
            _ => format!("{name} is now {is}."),
        },
        NoticeKind::AfterMaintenance => format!("{name} is still {is} after the maintenance."),
        NoticeKind::FlapStart => format!(
            "{name} comes and goes. The incident stays open, without further word, until it is steady."
        ),
        NoticeKind::EvidenceWithdrawn => format!(
            "A location that saw {name} fail is no longer believed; without it too few locations agree."
        ),
        NoticeKind::Resolved | NoticeKind::FlapEnd => ending(notice, name, is),
    }
}

fn ending(notice: &Notice, name: &str, is: &str) -> String {
    if let Some(over) = notice.certificate.as_ref().and_then(|one| one.over.as_ref()) {
        return format!("{name} {over}.");
    }
    match notice.incident.resolve_reason.as_deref() {
        Some("paused") => return format!("{name} was paused, which closes its incident."),
        Some("deleted") => return format!("{name} was deleted, which closes its incident."),
        Some(reason) if !recovered(notice) => {
            return format!("The incident of {name} was closed: {reason}.");
        }
        _ => {}
    }
    let lasted = duration(lasted(notice));
    if let Some(platform) = &notice.platform {
        return format!("{name} {}, after {lasted}.", platform.over);
    }
    if let Some(slo) = &notice.slo {
        return format!("{name} no longer {}, after {lasted}.", slo.title);
    }
    if notice.fleet.is_some() {
        return match notice.collapsed {
            true => format!("{name} was {is} for {lasted}, and is as usual again."),
            false => format!("{name} is as usual again after {lasted}."),
        };
    }
    match (notice.kind, notice.collapsed) {
        (_, true) => format!("{name} was {is} for {lasted}, and is up again."),
        (NoticeKind::FlapEnd, _) => format!("{name} is up and steady again after {lasted}."),
        _ => format!("{name} is up again after {lasted}."),
    }
}

/// Whether the end came by itself, not by a hand on the monitor.
fn recovered(notice: &Notice) -> bool {
    matches!(
        notice.incident.resolve_reason.as_deref(),
        None | Some("recovered" | "up" | "flap_end" | "renewed")
    )
}

/// From the first fail to the first pass; to the decision as long as there is none.
pub fn lasted(notice: &Notice) -> SignedDuration {
    let end = notice.incident.ended_at.unwrap_or(notice.decided_at);
    end.duration_since(notice.incident.started_at).max(SignedDuration::ZERO)
}

/// A fleet is not up or down: its instances are.
fn adjective(notice: &Notice, severity: Severity) -> &'static str {
    match severity {
        Severity::Down if notice.fleet.is_some() => "failing",
        Severity::Partial if notice.fleet.is_some() => "failing in part",
        Severity::Degraded if notice.fleet.is_some() => "not as usual",
        Severity::Down => "down",
        Severity::Partial => "partly down",
        Severity::Degraded => "degraded",
    }
}

fn tone(notice: &Notice) -> Tone {
    match notice.severity {
        _ if notice.kind.ends() => Tone::Up,
        Severity::Down => Tone::Down,
        Severity::Partial => Tone::Partial,
        Severity::Degraded => Tone::Degraded,
    }
}

fn facts(notice: &Notice, around: &Surroundings) -> Vec<(&'static str, String)> {
    let mut facts = prompt::facts(notice, around);
    let mut fact = |label: &'static str, value: String| {
        if !value.is_empty() {
            facts.push((label, value));
        }
    };
    if let Some(monitor) = &notice.monitor {
        fact("Target", monitor.target.clone());
        fact("Group", monitor.group.clone());
    }
    if let Some(certificate) = &notice.certificate {
        fact("Ends", instant(certificate.not_after, &around.zone));
        fact("Issuer", certificate.issuer.clone());
        fact("Fingerprint", certificate.fingerprint.clone());
    }
    if let Some(slo) = &notice.slo {
        fact("Service", slo.service.clone());
        fact("Owner", slo.owner.clone());
    }
    // The first finding is the sentence, until all are over: then the sentence tells their end.
    let told = usize::from(!notice.kind.ends());
    for line in notice.fleet.iter().flat_map(|fleet| fleet.findings.iter().skip(told)).take(10) {
        let label = match (notice.kind.ends(), line.open) {
            (true, _) => "Was",
            (false, true) => "Also",
            (false, false) => "Over",
        };
        fact(label, line.sentence.clone());
    }
    if let Some(storm) = &notice.storm {
        fact("Share", storm.shared.clone());
        fact("Not up", storm.names(true));
        fact("Up again", storm.names(false));
    }
    fact("Began", instant(notice.incident.started_at, &around.zone));
    if let Some(ended) = notice.incident.ended_at {
        fact("Ended", instant(ended, &around.zone));
    }
    fact("Decided", instant(notice.decided_at, &around.zone));
    if !notice.kind.ends() {
        fact("Scope", notice.scope.clone().unwrap_or_default());
        if notice.incident.low {
            fact(
                "Confidence",
                "low: the locations that agree do not cover what is required".into(),
            );
        }
    }
    let of_slo = notice.slo.as_ref().map(|slo| &slo.labels);
    if let Some(labels) = notice.monitor.as_ref().map(|monitor| &monitor.labels).or(of_slo) {
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        fact("Labels", labels.join(", "));
    }
    facts
}

/// Fails first, uncounted last, otherwise as given.
fn rows(lines: &[LocationLine]) -> Vec<Row> {
    let rank = |line: &LocationLine| match (&line.uncounted, line.vote.as_str()) {
        (Some(_), _) => 9,
        (None, "down") => 0,
        (None, "suspect") => 1,
        (None, "recovering") => 2,
        (None, "slow") => 3,
        (None, _) => 4,
    };
    let mut sorted: Vec<&LocationLine> = lines.iter().collect();
    sorted.sort_by_key(|line| rank(line));
    sorted.into_iter().map(row).collect()
}

fn row(line: &LocationLine) -> Row {
    let vote = match (&line.uncounted, line.vote.as_str()) {
        (Some(why), _) => format!("Not counted: {why}"),
        (None, "up") => "Up".into(),
        (None, "slow") => "Slow".into(),
        (None, "down") => "Down".into(),
        (None, "suspect") => "Suspect".into(),
        (None, "recovering") => "Recovering".into(),
        (None, "none") => "No result yet".into(),
        (None, other) => other.to_owned(),
    };
    let name =
        if line.simulated { format!("{} (simulated)", line.name) } else { line.name.clone() };
    Row { name, vote, saw: line.saw.clone(), address: line.address.clone().unwrap_or_default() }
}

/// By the class that most of the failing locations report; the earlier line wins a tie.
fn first(notice: &Notice) -> Option<String> {
    if notice.kind.ends() {
        return None;
    }
    let classes: Vec<&str> = notice
        .locations
        .iter()
        .filter(|line| line.uncounted.is_none())
        .filter_map(|line| line.class.as_deref())
        .collect();
    let count = |class: &str| classes.iter().filter(|other| **other == class).count();
    let most = classes.iter().rev().max_by_key(|class| count(class))?;
    let class = Class::ALL.iter().find(|class| class.name() == *most)?;
    Some(format!("Look first at {}.", class.look_first().trim_end_matches('.')))
}

/// `Tue 17 Nov 2026, 03:07:24 CET (02:07:24 UTC)`
pub fn instant(at: Timestamp, zone: &TimeZone) -> String {
    let local = at.to_zoned(zone.clone());
    let utc = at.to_zoned(TimeZone::UTC);
    let told = local.strftime("%a %-d %b %Y, %H:%M:%S %Z").to_string();
    if local.offset() == utc.offset() {
        return told;
    }
    let day = if local.date() == utc.date() { "" } else { "%a %-d %b, " };
    format!("{told} ({})", utc.strftime(&format!("{day}%H:%M:%S UTC")))
}

/// The two largest units, no-break space before each: `42 s`, `4 min 42 s`, `3 h 5 min`, `2 d 4 h`.
pub fn duration(span: SignedDuration) -> String {
    let secs = span.as_secs().max(0);
    let units = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];
    let at = units.iter().position(|(_, size)| secs >= *size).unwrap_or(3);
    let (unit, size) = units[at];
    let mut told = format!("{}\u{a0}{unit}", secs / size);
    if let Some((next, next_size)) = units.get(at + 1)
        && secs % size / next_size > 0
    {
        told.push_str(&format!(" {}\u{a0}{next}", secs % size / next_size));
    }
    told
}

#[cfg(test)]
mod tests;
