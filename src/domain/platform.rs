//! Trouble of Quorate itself (spec: decision 5.8): one incident for each cause, never one for each monitor,
//! and never downtime of what is watched.
//!
//! A [`Trouble`] is what a chore found; whoever finds it says so again at every look, and the incident lasts
//! as long as it is found.

use serde_json::{Value, json};
use uuid::Uuid;

use super::incident::Severity;

/// What can be wrong with Quorate itself. The subject of its incident begins with `platform:` and the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Monitors of which too few locations report.
    BlindMonitors,
    /// A location whose votes do not count; one incident for each location.
    Quarantined,
    /// More locations are impaired than may be set aside, so none is.
    OverCap,
    /// Alerts that no channel took.
    UndeliveredAlerts,
    /// A coordinator whose clock differs from the database's.
    Clock,
}

impl Cause {
    pub const ALL: [Cause; 5] = [
        Cause::BlindMonitors,
        Cause::Quarantined,
        Cause::OverCap,
        Cause::UndeliveredAlerts,
        Cause::Clock,
    ];

    /// The word in subjects and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Cause::BlindMonitors => "blind_monitors",
            Cause::Quarantined => "quarantined",
            Cause::OverCap => "over_cap",
            Cause::UndeliveredAlerts => "undelivered_alerts",
            Cause::Clock => "clock",
        }
    }

    /// What the subjects of this cause begin with, or are.
    pub fn subject(self) -> String {
        format!("platform:{}", self.word())
    }

    /// The cause of an incident by its subject; none for an incident about anything else.
    pub fn of_subject(subject: &str) -> Option<Self> {
        let rest = subject.strip_prefix("platform:")?;
        let word = rest.split_once(':').map_or(rest, |(word, _)| word);
        Self::ALL.into_iter().find(|cause| cause.word() == word)
    }
}

/// Something that is wrong now.
#[derive(Debug, Clone, PartialEq)]
pub struct Trouble {
    pub cause: Cause,
    /// Which one of several of this cause (the location); none where there can be one alone.
    pub of: Option<Uuid>,
    pub severity: Severity,
    /// What is wrong, in a few words that go on after "Quorate": `cannot deliver alerts`.
    pub title: String,
    /// What Quorate does once it is over: `delivers alerts again`.
    pub over: String,
    /// What was found, and what to do about it.
    pub sentence: String,
    /// Numbers and names behind the sentence, an object.
    pub evidence: Value,
}

/// Names that a sentence lists before it says how many more there are.
const NAMED: usize = 5;

impl Trouble {
    /// `platform:CAUSE`, or `platform:CAUSE:ID`.
    pub fn subject(&self) -> String {
        match self.of {
            Some(id) => format!("{}:{id}", self.cause.subject()),
            None => self.cause.subject(),
        }
    }

    /// `blind` monitors that are unknown because too few of their locations report, of `watched` in all, with
    /// the names of the first.
    pub fn blind(monitors: &[String], blind: usize, watched: usize) -> Self {
        let all = blind >= watched;
        Self {
            cause: Cause::BlindMonitors,
            of: None,
            severity: if all { Severity::Down } else { Severity::Partial },
            title: "cannot see every monitor".to_owned(),
            over: "sees every monitor again".to_owned(),
            sentence: format!(
                "Too few locations report on {blind} of {watched} monitors: {}. Their state is unknown; \
                 look whether agents are online and can deliver.",
                listed_of(monitors, blind)
            ),
            evidence: json!({ "blind": blind, "watched": watched, "monitors": monitors }),
        }
    }

    /// A location whose votes do not count. `why` is a full sentence.
    pub fn quarantined(location: Uuid, name: &str, why: &str) -> Self {
        Self {
            cause: Cause::Quarantined,
            of: Some(location),
            severity: Severity::Degraded,
            title: format!("does not believe {name}"),
            over: format!("believes {name} again"),
            sentence: format!("The votes of {name} do not count. {why}"),
            evidence: json!({ "location": { "id": location, "name": name } }),
        }
    }

    /// Locations, by name, that are impaired although at most `cap` of `online` may be set aside: all of
    /// them are believed.
    pub fn over_cap(impaired: &[String], cap: usize, online: usize) -> Self {
        let most = if cap == 0 { "none".to_owned() } else { format!("at most {cap}") };
        Self {
            cause: Cause::OverCap,
            of: None,
            severity: Severity::Partial,
            title: "has more impaired locations than it may set aside".to_owned(),
            over: "has few enough impaired locations again".to_owned(),
            sentence: format!(
                "{} of {online} locations look impaired: {}. Of these {most} may be set aside, so all are \
                 believed, and what they say may be wrong.",
                impaired.len(),
                listed(impaired)
            ),
            evidence: json!({ "impaired": impaired, "cap": cap, "online": online }),
        }
    }

    /// Alerts that no channel took. `told` says whether the fallback channel has them.
    pub fn undelivered(alerts: u64, channels: &[String], told: Fallback) -> Self {
        let what = if alerts == 1 { "1 alert was" } else { &format!("{alerts} alerts were") };
        let fallback = match told {
            Fallback::Told => "The fallback channel was told instead.",
            Fallback::Missing => {
                "No fallback channel is set, so nobody was told; choose one under Settings → Alerts."
            }
            Fallback::Failing => "The fallback channel does not take them either.",
        };
        let failing = match channels {
            [] => String::new(),
            _ => format!(" These channels fail: {}.", listed(channels)),
        };
        Self {
            cause: Cause::UndeliveredAlerts,
            of: None,
            severity: Severity::Down,
            title: "cannot deliver alerts".to_owned(),
            over: "delivers alerts again".to_owned(),
            sentence: format!("{what} taken by no channel within 2 min.{failing} {fallback}"),
            evidence: json!({ "alerts": alerts, "channels": channels }),
        }
    }

    /// Coordinators whose clocks are off, each with its offset in milliseconds.
    pub fn clock(offsets: &[(Uuid, i32)]) -> Self {
        let worst = offsets.iter().map(|(_, offset)| *offset).max_by_key(|offset| offset.abs());
        let worst = worst.unwrap_or_default();
        let way = if worst < 0 { "behind" } else { "ahead of" };
        let which = match offsets.len() {
            0 | 1 => "The clock of a coordinator is".to_owned(),
            several => format!("The clocks of {several} coordinators differ; one is"),
        };
        let seconds = f64::from(worst.abs()) / 1_000.0;
        let listed: Vec<Value> = offsets
            .iter()
            .map(|(id, offset)| json!({ "coordinator": id, "offset_ms": offset }))
            .collect();
        Self {
            cause: Cause::Clock,
            of: None,
            severity: Severity::Degraded,
            title: "runs on a clock that is off".to_owned(),
            over: "has the right time again".to_owned(),
            sentence: format!(
                "{which} {seconds:.1} s {way} the database's. Decisions use the database's time; set the \
                 clock right all the same."
            ),
            evidence: json!({ "coordinators": listed }),
        }
    }
}

/// What became of alerts that no other channel took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    Told,
    /// None is set, or it is switched off.
    Missing,
    Failing,
}

/// `a, b, c, d, e and 3 more`
fn listed(names: &[String]) -> String {
    listed_of(names, names.len())
}

/// The same of names that are the first of `all`.
fn listed_of(names: &[String], all: usize) -> String {
    let shown = names.get(..NAMED).unwrap_or(names);
    let more = all.saturating_sub(shown.len());
    let shown = shown.join(", ");
    match more {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (1..=count).map(|n| format!("m{n}")).collect()
    }

    #[test]
    fn subjects_name_the_cause_and_are_read_again() {
        for cause in Cause::ALL {
            assert_eq!(Cause::of_subject(&cause.subject()), Some(cause));
        }
        let one = Trouble::quarantined(Uuid::from_u128(7), "fra", "It fails its self-checks.");
        assert_eq!(one.subject(), format!("platform:quarantined:{}", Uuid::from_u128(7)));
        assert_eq!(Cause::of_subject(&one.subject()), Some(Cause::Quarantined));
        assert_eq!(Cause::of_subject("monitor:x"), None);
        assert_eq!(Cause::of_subject("platform:quarantined_else"), None);
    }

    #[test]
    fn blindness_is_as_grave_as_it_is_wide() {
        let some = Trouble::blind(&names(7), 7, 9);
        assert_eq!(some.severity, Severity::Partial);
        assert!(
            some.sentence.contains("7 of 9 monitors: m1, m2, m3, m4, m5 and 2 more."),
            "{some:?}"
        );
        assert_eq!(Trouble::blind(&names(6), 9, 9).severity, Severity::Down);
    }

    #[test]
    fn sentences_read_well() {
        let one = Trouble::undelivered(1, &["mail".to_owned()], Fallback::Missing);
        assert!(one.sentence.starts_with("1 alert was taken by no channel within 2 min. These"));
        let none = Trouble::over_cap(&names(1), 0, 2);
        assert!(none.sentence.contains("1 of 2 locations look impaired: m1. Of these none may"));
        let clock = Trouble::clock(&[(Uuid::nil(), 200), (Uuid::nil(), -4_200)]);
        assert!(clock.sentence.contains("2 coordinators differ; one is 4.2 s behind"), "{clock:?}");
    }
}
