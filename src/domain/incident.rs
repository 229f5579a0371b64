//! Incidents of a monitor (spec: decision 5.8): when one began, when it ended, whether it is an old
//! one again.

use serde::{Deserialize, Serialize};

use super::Millis;
use super::ids::IncidentKey;

/// How bad an open incident is. The order is the order of severity.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Degraded,
    Partial,
    Down,
}

impl Severity {
    /// The word in the database, in JSON and in traces.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Degraded => "degraded",
            Severity::Partial => "partial",
            Severity::Down => "down",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [Severity::Degraded, Severity::Partial, Severity::Down]
            .into_iter()
            .find(|severity| severity.name() == name)
    }
}

/// The open incident of a monitor, as far as deciding needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// The stored row; whoever stores it fills it in.
    #[serde(rename = "k", default, skip_serializing_if = "Option::is_none")]
    pub key: Option<IncidentKey>,
    #[serde(rename = "s")]
    pub severity: Severity,
    /// When the trouble began, back-dated to the first failing attempt that carries it.
    #[serde(rename = "b")]
    pub started_at: Millis,
    /// When it was first opened; after maintenance, when it was announced.
    #[serde(rename = "o")]
    pub opened_at: Millis,
    /// Whether people were told. Not while maintenance keeps it silent.
    #[serde(rename = "a")]
    pub announced: bool,
    /// Latest end of the windows that kept it silent.
    #[serde(rename = "q", default, skip_serializing_if = "Option::is_none")]
    pub quiet_end: Option<Millis>,
    /// Its votes fell below the quorum because locations were set aside; told once.
    #[serde(rename = "w", default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
}

/// The incident that was resolved last; it may be reopened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    #[serde(rename = "k", default, skip_serializing_if = "Option::is_none")]
    pub key: Option<IncidentKey>,
    #[serde(rename = "b")]
    pub started_at: Millis,
    #[serde(rename = "o")]
    pub opened_at: Millis,
    #[serde(rename = "r")]
    pub resolved_at: Millis,
}

impl Past {
    /// Whether trouble at `now` is this incident again.
    pub fn reopens(&self, now: Millis, within: Millis) -> bool {
        now - self.resolved_at <= within
    }
}

/// Why an incident ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Recovered,
    /// It had been held open because it flapped.
    FlapEnd,
    Paused,
    Deleted,
}

/// When trouble began: the earliest start of a failing run that began no earlier than `stale_after`
/// before the timer that fired; if all are older, the latest, which completed the quorum. None only
/// without any run.
pub fn started_at(
    runs: impl Iterator<Item = Millis> + Clone,
    timer_began: Millis,
    stale_after: Millis,
) -> Option<Millis> {
    runs.clone().filter(|start| *start >= timer_began - stale_after).min().or_else(|| runs.max())
}

/// When trouble ended: the earliest start of a present run of passes that is not older than
/// `stale_after` before the milder timer began; else when that timer began.
pub fn ended_at(
    runs: impl Iterator<Item = Millis>,
    timer_began: Millis,
    stale_after: Millis,
) -> Millis {
    runs.filter(|start| *start >= timer_began - stale_after).min().unwrap_or(timer_began)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_far_older_than_the_timer_does_not_date_the_incident() {
        assert_eq!(started_at([130, 3_720, 3_722].into_iter(), 3_727, 150), Some(3_720));
        assert_eq!(started_at([3_577, 3_720].into_iter(), 3_727, 150), Some(3_577));
        assert_eq!(started_at([3_576, 3_720].into_iter(), 3_727, 150), Some(3_720));
        assert_eq!(
            started_at([130, 140].into_iter(), 3_727, 150),
            Some(140),
            "the one that completed it"
        );
        assert_eq!(started_at(std::iter::empty(), 10, 150), None);
    }

    #[test]
    fn the_end_is_dated_to_the_first_pass_near_the_timer() {
        assert_eq!(ended_at([400, 408, 10].into_iter(), 420, 150), 400);
        assert_eq!(ended_at([10].into_iter(), 420, 150), 420);
    }

    #[test]
    fn an_incident_reopens_up_to_and_including_the_limit() {
        let past = Past { key: None, started_at: 0, opened_at: 5, resolved_at: 100 };
        assert!(past.reopens(700, 600) && !past.reopens(701, 600));
    }
}
