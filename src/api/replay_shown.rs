//! What a replay answers.

use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::{incidents::Severity, odds::Odds, request::At, view::instant};
use crate::{
    domain::{
        Millis,
        decision::replay::{
            Course,
            compare::{self, Spell, Sums},
        },
        incident,
        monitor::PolicySpec,
    },
    store::replay::{EventRow, IncidentRow},
};

/// One past, told several times.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Replay {
    /// The span that was replayed: not before single results are kept.
    pub from: At,
    pub to: At,
    /// Results that went into it, those of a while before the span included.
    pub results: u64,
    /// `real` first, then `present`, `tried` and `any_one`.
    pub lanes: Vec<ReplayLane>,
    /// Times in which at least one of them has an incident, in order.
    pub troubles: Vec<ReplayTrouble>,
    /// What this replay cannot know, one sentence each.
    pub caveats: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LaneKey {
    /// What happened.
    Real,
    /// The present policy, replayed: as what happened, as far as the monitor is what it was.
    Present,
    Tried,
    /// The present policy, but any one location is enough; for scale.
    AnyOne,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ReplayLane {
    pub key: LaneKey,
    /// As a monitor's; null for what happened.
    pub policy: Option<PolicySpec>,
    /// What the policy is good for by the formulas; null for what happened.
    pub odds: Option<Odds>,
    /// In order of opening.
    pub incidents: Vec<ReplayIncident>,
    pub sums: ReplaySums,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ReplayIncident {
    /// Of one that happened; null for one that would have.
    pub id: Option<Uuid>,
    /// At last, and at its worst.
    pub severity: Severity,
    pub peak: Severity,
    pub started_at: At,
    pub opened_at: At,
    /// Null while it is open at the end of the span.
    pub ended_at: Option<At>,
    pub resolved_at: Option<At>,
    pub low: bool,
    /// Maintenance keeps it silent.
    pub suppressed: bool,
    pub flapping: bool,
    /// Messages to each channel.
    pub told: u32,
    /// It was there before the span, so that its beginning says nothing.
    pub before: bool,
    /// From the beginning of the trouble to its first alert; null if it was there before, or is not told.
    pub delay_ms: Option<i64>,
    pub events: Vec<ReplayEvent>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ReplayEvent {
    pub at: At,
    /// As in a trace: `opened:down`.
    pub kind: String,
    pub sentence: String,
}

/// A lane in numbers, against what happened; what happened is held against the policy that is tried.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
pub struct ReplaySums {
    pub incidents: u32,
    /// Messages to each channel.
    pub told: u32,
    /// Told incidents of less than five minutes.
    pub brief: u32,
    /// Told incidents that the other does not have.
    pub alone: u32,
    /// Troubles that the other tells and this one does not.
    pub missed: u32,
    /// From the beginning of a trouble to its alert.
    pub delay_median_ms: Option<i64>,
    pub delay_longest_ms: Option<i64>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ReplayTrouble {
    pub from: At,
    pub to: Option<At>,
    /// By lane, in their order: which of its incidents belong to it.
    pub incidents: Vec<Vec<u32>>,
}

/// An answer that knows what happened, and waits for the policies.
pub fn shown(
    from: Timestamp,
    to: Timestamp,
    results: usize,
    rows: Vec<IncidentRow>,
    events: Vec<EventRow>,
) -> Replay {
    let start = from.as_millisecond();
    let incidents = rows.into_iter().map(|row| ReplayIncident::happened(row, &events, start));
    let real = ReplayLane {
        key: LaneKey::Real,
        policy: None,
        odds: None,
        incidents: incidents.collect(),
        sums: ReplaySums::default(),
    };
    Replay {
        from: At(from),
        to: At(to),
        results: u64::try_from(results).unwrap_or(u64::MAX),
        lanes: vec![real],
        troubles: Vec::new(),
        caveats: Vec::new(),
    }
}

impl Replay {
    pub fn add(&mut self, lane: ReplayLane) {
        self.lanes.push(lane);
    }

    /// Puts the lanes side by side.
    pub fn compare(&mut self, from: Millis) {
        let accounts: Vec<Vec<Spell>> = self
            .lanes
            .iter()
            .map(|lane| lane.incidents.iter().map(ReplayIncident::spell).collect())
            .collect();
        let place = |key| self.lanes.iter().position(|lane| lane.key == key).unwrap_or(0);
        let (real, tried) = (place(LaneKey::Real), place(LaneKey::Tried));
        // "Any one location" is there for scale: it must not stretch the troubles of the others.
        let told: Vec<Vec<Spell>> = accounts.iter().take(tried + 1).cloned().collect();
        let troubles = compare::troubles(&told);
        let all = compare::troubles(&accounts);
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            let other = if index == real { tried } else { real };
            let troubles = if index > tried { &all } else { &troubles };
            lane.sums = compare::sums(&accounts, troubles, index, other, from).into();
            for trouble in troubles {
                let delay = trouble.delay(&accounts, index, from);
                let own = trouble.incidents.get(index).into_iter().flatten();
                let mut told =
                    own.filter(|i| accounts[index].get(**i).is_some_and(|s| !s.suppressed));
                if let Some(first) = told.next().and_then(|i| lane.incidents.get_mut(*i)) {
                    first.delay_ms = delay;
                }
            }
        }
        let count = |n: &usize| u32::try_from(*n).unwrap_or(u32::MAX);
        self.troubles = troubles
            .iter()
            .map(|trouble| ReplayTrouble {
                from: At(instant(trouble.from)),
                to: trouble.to.map(|at| At(instant(at))),
                incidents: trouble
                    .incidents
                    .iter()
                    .map(|l| l.iter().map(count).collect())
                    .collect(),
            })
            .collect();
    }
}

impl ReplayLane {
    pub fn of(
        key: LaneKey,
        policy: PolicySpec,
        odds: Odds,
        courses: Vec<Course>,
        from: Timestamp,
    ) -> Self {
        let start = from.as_millisecond();
        let incidents = courses.into_iter().map(|course| ReplayIncident::would_be(course, start));
        Self {
            key,
            policy: Some(policy),
            odds: Some(odds),
            incidents: incidents.collect(),
            sums: ReplaySums::default(),
        }
    }
}

impl ReplayIncident {
    fn happened(row: IncidentRow, events: &[EventRow], start: Millis) -> Self {
        let events: Vec<ReplayEvent> = events
            .iter()
            .filter(|event| event.incident == row.incident)
            .map(|event| ReplayEvent {
                at: At(event.at),
                kind: event.kind.clone(),
                sentence: event.sentence.clone(),
            })
            .collect();
        let told = events.iter().filter(|event| !event.kind.starts_with("suppressed:")).count();
        Self {
            id: Some(row.incident),
            severity: Severity::from_stored(&row.severity),
            peak: Severity::from_stored(&row.peak),
            before: row.started_at.as_millisecond() < start,
            started_at: At(row.started_at),
            opened_at: At(row.opened_at),
            ended_at: row.ended_at.map(At),
            resolved_at: row.resolved_at.map(At),
            low: row.low,
            suppressed: told == 0 && row.suppressed,
            flapping: row.flapping,
            told: u32::try_from(told).unwrap_or(u32::MAX),
            delay_ms: None,
            events,
        }
    }

    fn would_be(course: Course, start: Millis) -> Self {
        let at = |millis| At(instant(millis));
        Self {
            id: None,
            severity: course.severity.into(),
            peak: course.peak.into(),
            before: course.started_at < start,
            started_at: at(course.started_at),
            opened_at: at(course.opened_at),
            ended_at: course.ended_at.map(at),
            resolved_at: course.resolved_at.map(at),
            low: course.low,
            suppressed: course.suppressed,
            flapping: course.flapping,
            told: course.told,
            delay_ms: None,
            events: course
                .happenings
                .into_iter()
                .map(|one| ReplayEvent { at: at(one.at), kind: one.word, sentence: one.sentence })
                .collect(),
        }
    }

    fn spell(&self) -> Spell {
        Spell {
            started_at: self.started_at.0.as_millisecond(),
            opened_at: self.opened_at.0.as_millisecond(),
            ended_at: self.ended_at.map(|at| at.0.as_millisecond()),
            told: self.told,
            suppressed: self.suppressed,
        }
    }
}

impl From<incident::Severity> for Severity {
    fn from(severity: incident::Severity) -> Self {
        match severity {
            incident::Severity::Degraded => Self::Degraded,
            incident::Severity::Partial => Self::Partial,
            incident::Severity::Down => Self::Down,
        }
    }
}

impl From<Sums> for ReplaySums {
    fn from(sums: Sums) -> Self {
        Self {
            incidents: sums.incidents,
            told: sums.told,
            brief: sums.brief,
            alone: sums.alone,
            missed: sums.missed,
            delay_median_ms: sums.delay_median,
            delay_longest_ms: sums.delay_longest,
        }
    }
}
