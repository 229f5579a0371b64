//! From observations to a decision (spec: decision 5.2 to 5.8, rule version q1). [`step`] is the one
//! entry: stored state and what came in, in; the new state and what follows from it, out. It is a
//! function of its arguments, so any decision can be replayed and explained.
//!
//! `tests/it/decide_oracle` has the same rules a second time, plain and slow, written from their
//! description alone; random scenarios must come out alike. A change of the rules is made in both.

pub mod ballot;
pub mod basis;
pub mod dissent;
pub mod explain;
pub mod flap;
mod halt;
pub mod heartbeat;
mod history;
mod live;
pub mod odds;
pub mod replay;
pub mod scope;
mod settled;
mod state;
#[cfg(test)]
mod tests;
mod tick;
pub mod verdict;
mod vote;
mod wake;
pub mod wave;

use serde::{Deserialize, Serialize};

pub use self::flap::Flaps;
pub use self::halt::{Halt, delete, pause, resume};
pub use self::live::Live;
pub use self::scope::Scope;
pub use self::settled::watermark;
pub use self::state::{State, Timer, Timers};
pub use self::tick::step;
pub use self::verdict::{Flag, Raw, Verdict, judge};
pub use self::vote::{Saw, Vote, VoteState};
pub use self::wake::{Hold, hold};
use super::Millis;
use super::ids::LocationKey;
use super::incident::{Ending, Severity};
use super::maintenance::Window;
use super::monitor::Policy;
use super::observation::{Class, Outcome, RunKind};

/// Stored with every decision.
pub const RULE_VERSION: &str = "q1";

/// A configured location of a monitor. The order of seats is the order in which they were configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    pub key: LocationKey,
    pub name: String,
    pub region: String,
    pub domain: String,
    pub standing: Standing,
}

/// Whether a location is believed, for this monitor, now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    Counted,
    Disabled,
    Quarantined,
    Distrusted,
    Divergent,
}

impl Standing {
    /// The word in the database and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Standing::Counted => "counted",
            Standing::Disabled => "disabled",
            Standing::Quarantined => "quarantined",
            Standing::Distrusted => "distrusted",
            Standing::Divergent => "divergent",
        }
    }
}

/// One report, as far as deciding needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub location: LocationKey,
    /// Effective time: the start of the attempt.
    pub at: Millis,
    pub received: Millis,
    pub outcome: Outcome,
    pub class: Option<Class>,
    pub latency_ms: Millis,
    pub kind: RunKind,
    pub check_version: u32,
    /// Its age was guessed across a reboot: history only.
    pub age_estimated: bool,
    pub address: Option<String>,
    pub status: Option<u16>,
    pub asn: Option<u32>,
    pub pop: Option<String>,
}

impl Seen {
    /// A plain report that arrived at once.
    pub fn new(location: LocationKey, at: Millis, outcome: Outcome) -> Self {
        Self {
            location,
            at,
            received: at,
            outcome,
            class: None,
            latency_ms: 0,
            kind: RunKind::Scheduled,
            check_version: 0,
            age_estimated: false,
            address: None,
            status: None,
            asn: None,
            pop: None,
        }
    }
}

/// Everything a decision rests on beside the stored state and the reports.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    pub policy: &'a Policy,
    pub check_version: u32,
    pub seats: &'a [Seat],
    pub windows: &'a [Window],
    /// More locations are impaired than may be set aside, so nobody is.
    pub over_cap: bool,
    /// After a restart nothing turns stale before this.
    pub grace_until: Option<Millis>,
    pub now: Millis,
}

/// What came of one report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    Folded,
    /// It kept the vote fresh and changed nothing else.
    FreshnessOnly,
    History(HistoryOnly),
}

impl Disposition {
    /// Number in the database.
    pub fn code(self) -> i16 {
        match self {
            Disposition::Folded => 0,
            Disposition::FreshnessOnly => 1,
            Disposition::History(HistoryOnly::Manual) => 2,
            Disposition::History(HistoryOnly::Error) => 3,
            Disposition::History(HistoryOnly::AgeEstimated) => 4,
            Disposition::History(HistoryOnly::OutOfOrder) => 5,
            Disposition::History(HistoryOnly::TooOld) => 6,
            Disposition::History(HistoryOnly::OldVersion) => 7,
            Disposition::History(HistoryOnly::NotConfigured) => 8,
            Disposition::History(HistoryOnly::Paused) => 9,
        }
    }
}

/// Why a report is kept but not folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HistoryOnly {
    Manual,
    /// Our own fault, not the target's.
    Error,
    AgeEstimated,
    /// Not later than what was folded last.
    OutOfOrder,
    /// Already stale when it arrived.
    TooOld,
    OldVersion,
    NotConfigured,
    Paused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VoteChange {
    pub location: LocationKey,
    pub from: VoteState,
    pub to: VoteState,
    /// Effective time of the report that changed it.
    pub at: Millis,
}

/// A run began that the others are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct First {
    pub location: LocationKey,
    pub kind: FirstKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FirstKind {
    Fail,
    /// At a location that was down.
    Pass,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateChange {
    pub from: State,
    pub to: State,
    /// The tick.
    pub at: Millis,
    /// Where the interval of the new state begins: dated back to the evidence, never before the
    /// interval that it ends.
    pub since: Millis,
}

/// Evidence became too thin for a down or partial state, or thick enough again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaleChange {
    pub stale: bool,
    pub at: Millis,
}

/// Something that happened at a tick. Written as in `quorate decide`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    pub at: Millis,
    /// Kept silent by maintenance: stored, told to nobody.
    pub suppressed: bool,
    pub what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Opened {
        severity: Severity,
        low: bool,
        started_at: Millis,
    },
    Reopened {
        severity: Severity,
    },
    Escalated {
        from: Severity,
        to: Severity,
    },
    Downgraded {
        from: Severity,
        to: Severity,
    },
    Resolved {
        ended_at: Millis,
        ending: Ending,
    },
    /// A resolve was held back, because it would have been one change too many.
    FlapStart,
    Blind,
    BlindEnd,
    /// Maintenance is over and it is still not up: opened now.
    AfterMaintenance {
        severity: Severity,
        started_at: Millis,
    },
    /// Locations that carried the incident are not believed any more. Told once, in place; not part of
    /// a trace.
    EvidenceWithdrawn,
}

impl Event {
    /// The word of a trace; none for what no trace shows.
    pub fn word(&self) -> Option<String> {
        let word = match self.what {
            What::Opened { severity, low, .. } => {
                format!("opened:{}{}", severity.name(), if low { ":low" } else { "" })
            }
            What::Reopened { severity } => format!("reopened:{}", severity.name()),
            What::Escalated { to, .. } => format!("escalated:{}", to.name()),
            What::Downgraded { to, .. } => format!("downgraded:{}", to.name()),
            What::Resolved { ending: Ending::FlapEnd, .. } => "resolved:flap_end".to_owned(),
            What::Resolved { .. } => "resolved".to_owned(),
            What::FlapStart => "flap_start".to_owned(),
            What::Blind => "blind".to_owned(),
            What::BlindEnd => "blind_end".to_owned(),
            What::AfterMaintenance { severity, .. } => {
                format!("opened:{}:after_maintenance", severity.name())
            }
            What::EvidenceWithdrawn => return None,
        };
        Some(if self.suppressed { format!("suppressed:{word}") } else { word })
    }
}

/// What one tick decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The tick: `now`, or the last one if that was later.
    pub at: Millis,
    pub verdict: Verdict,
    /// One per report, in the order given.
    pub folded: Vec<Disposition>,
    pub vote_changes: Vec<VoteChange>,
    /// Runs that began; `wave::plan` says whom to ask.
    pub firsts: Vec<First>,
    pub state_change: Option<StateChange>,
    pub stale_change: Option<StaleChange>,
    pub events: Vec<Event>,
    /// A location that has been alone in down here for a day.
    pub divergent: Option<LocationKey>,
    /// Locations set aside here as divergent that agree again.
    pub converged: Vec<LocationKey>,
    /// The next time at which silence alone may change something; none while nothing can.
    pub wake_at: Option<Millis>,
    /// The sentence that explains the decision; empty when neither a vote nor the state changed.
    pub why: String,
}

impl Step {
    /// Nothing has come of it yet.
    fn at(at: Millis, verdict: Verdict) -> Self {
        Self {
            at,
            verdict,
            folded: Vec::new(),
            vote_changes: Vec::new(),
            firsts: Vec::new(),
            state_change: None,
            stale_change: None,
            events: Vec::new(),
            divergent: None,
            converged: Vec::new(),
            wake_at: None,
            why: String::new(),
        }
    }

    /// Whether there is anything to tell or to show.
    pub fn is_quiet(&self) -> bool {
        self.vote_changes.is_empty()
            && self.state_change.is_none()
            && self.stale_change.is_none()
            && self.events.is_empty()
    }
}
