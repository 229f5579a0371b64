//! What a notice says of its subject.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Severity;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MonitorFacts {
    pub uid: Uuid,
    pub name: String,
    /// Empty when the monitor is in no group.
    pub group: String,
    /// What is probed, as people write it (`https://shop.example/health`), without secrets.
    pub target: String,
    pub labels: std::collections::BTreeMap<String, String>,
    pub runbook_url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetFacts {
    pub uid: Uuid,
    pub name: String,
    /// What was found, the gravest first.
    pub findings: Vec<FleetLine>,
}

impl FleetFacts {
    /// What is wrong in a few words: the gravest of what was found.
    pub fn title(&self) -> Option<&str> {
        let title = self.findings.first()?.title.as_str();
        (!title.is_empty()).then_some(title)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SloFacts {
    pub uid: Uuid,
    pub name: String,
    /// Empty when it belongs to none.
    pub service: String,
    /// Who is responsible; empty when nobody was named.
    pub owner: String,
    pub labels: std::collections::BTreeMap<String, String>,
    /// The rule, or `budget`.
    pub alert: String,
    /// What it does, in a few words that go on after its name: `burns its error budget too fast`.
    pub title: String,
}

/// One finding of a fleet's alert.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetLine {
    /// `fleet:{uid}:{kind}:{instance}`
    pub subject: String,
    /// What is wrong in a few words; empty in notices that are older than titles.
    #[serde(default)]
    pub title: String,
    pub severity: Severity,
    pub sentence: String,
    /// It goes on.
    pub open: bool,
}

/// What makes a notice go out although the incident stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// A step of its escalation was due: all from 1.
    Step { policy: String, round: u32, rounds: u32, step: u32, steps: u32 },
    /// The nth reminder.
    Reminder { number: u32 },
    /// Nobody is at it any more; the sentence says why.
    AckOver { sentence: String },
    /// Somebody is at it, until when it ends by itself.
    Acknowledged { by: String, until: Timestamp, note: Option<String> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IncidentFacts {
    pub uid: Uuid,
    /// `monitor:{uid}`, `fleet:{uid}:{kind}:{instance}`, `slo:{uid}:{rule}`, `platform:{cause}`,
    /// `certificate:{monitor}:{fingerprint}` …
    pub subject: String,
    /// Back-dated to the first fail.
    pub started_at: Timestamp,
    /// When it was decided.
    pub opened_at: Timestamp,
    /// Back-dated to the first pass; only with an end.
    pub ended_at: Option<Timestamp>,
    /// `recovered`, `paused`, `deleted` …; only with an end.
    pub resolve_reason: Option<String>,
    /// Low confidence: not every needed failure domain was seen.
    pub low: bool,
}

impl IncidentFacts {
    /// Names the incident to receivers that merge by key; it holds the incident's id, so that a late
    /// end cannot close a newer incident. At most 255 bytes.
    pub fn dedup_key(&self) -> String {
        const FIXED: usize = "quorate::".len() + 36;
        let mut subject = self.subject.as_str();
        while subject.len() > 255 - FIXED {
            let cut = subject.char_indices().next_back().map_or(0, |(at, _)| at);
            subject = &subject[..cut];
        }
        format!("quorate:{subject}:{}", self.uid)
    }
}

/// What one location says at the moment of the decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LocationLine {
    pub name: String,
    pub region: String,
    pub domain: String,
    /// `none up slow suspect down recovering`
    pub vote: String,
    /// Failure class of its last fail (`connect_refused`); none for a pass.
    pub class: Option<String>,
    /// What it saw, in a few words: `HTTP 503 in 38 ms`; empty before its first result.
    pub saw: String,
    /// The address it connected to.
    pub address: Option<String>,
    pub simulated: bool,
    /// Why its vote does not count (`quarantined`, `stale` …); none when it counts.
    pub uncounted: Option<String>,
}

/// Of an incident about Quorate itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformFacts {
    /// `undelivered_alerts`, `quarantined` …
    pub cause: String,
    /// What is wrong, in a few words that go on after "Quorate": `cannot deliver alerts`.
    pub title: String,
    /// What it does once that is over: `delivers alerts again`.
    pub over: String,
}

/// Of an incident about a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificateFacts {
    /// What is wrong, in words that go on after the monitor's name: `shows a certificate that ends in 7 days`.
    pub title: String,
    /// How it is over, in such words: `shows a renewed certificate`; only with an end that came by itself.
    pub over: Option<String>,
    /// SHA-256, lower-case hex.
    pub fingerprint: String,
    pub names: Vec<String>,
    /// Its organisation, or its common name.
    pub issuer: String,
    pub not_after: Timestamp,
    /// When it was decided.
    pub days_left: i32,
}

/// Of an alert that stands for several monitors, which went down together and share something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StormFacts {
    /// In words that go on after "share": `the domain shop.example`.
    pub shared: String,
    /// Monitors in the group that concern the channel, and those of them that are not up.
    pub total: u32,
    pub open: u32,
    /// The first of them, those that are not up before the others.
    pub monitors: Vec<StormLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StormLine {
    pub monitor: Uuid,
    pub name: String,
    pub severity: Severity,
    pub started_at: Timestamp,
    /// It goes on.
    pub open: bool,
}

impl StormFacts {
    /// How the group stands, in one sentence.
    pub fn sentence(&self) -> String {
        let (total, shared) = (self.total, &self.shared);
        match self.open {
            0 => format!(
                "All {total} monitors that went down together and share {shared} are over it."
            ),
            open if open == total => {
                format!("{total} monitors that share {shared} went down together.")
            }
            1 => format!(
                "Of {total} monitors that share {shared} and went down together, 1 is not up yet."
            ),
            open => format!(
                "Of {total} monitors that share {shared} and went down together, {open} are not up yet."
            ),
        }
    }

    /// Names of those that go on, or of those that do not: `a, b and 3 more`.
    pub fn names(&self, open: bool) -> String {
        let named: Vec<&str> = self
            .monitors
            .iter()
            .filter(|line| line.open == open)
            .map(|line| line.name.as_str())
            .collect();
        let all = if open { self.open } else { self.total.saturating_sub(self.open) };
        let named_count = u32::try_from(named.len()).unwrap_or(u32::MAX);
        match all.saturating_sub(named_count) {
            more if more > 0 && !named.is_empty() => {
                format!("{} and {more} more", named.join(", "))
            }
            more if more > 0 => format!("{more} more"),
            _ => named.join(", "),
        }
    }
}
