//! When silence alone may change something. Deciding only when reports come and at this time gives the
//! same as deciding every second.

use serde::{Deserialize, Serialize};

use super::state::{MILDER, SEVERITIES, Standpoint, State};
use super::verdict::{self, Raw, Verdict, counted};
use super::{Inputs, Live};
use crate::domain::incident::Severity;
use crate::domain::{Millis, maintenance};

/// The next deadline after `now`; none while silence can change nothing. Holds end exactly; what ends
/// by being older than a limit is seen by the sweep that follows, at the next full second.
pub(super) fn next(
    live: &Live,
    inputs: &Inputs<'_>,
    verdict: &Verdict,
    now: Millis,
) -> Option<Millis> {
    let policy = inputs.policy;
    let mut soonest = Soonest { now, at: None };
    match verdict.raw {
        Raw::Insufficient | Raw::Undecided => {
            soonest.add(hold(live, inputs, verdict).map(|hold| hold.due))
        }
        _ => running(live, standpoint(live, inputs)).for_each(|hold| soonest.add(Some(hold.due))),
    }
    // Leaving pending or unknown for up is due at once, but a tick makes one transition only.
    if verdict.raw == Raw::Up
        && live.incident.is_none()
        && matches!(live.state, State::Pending | State::Unknown)
    {
        soonest.add(Some(now));
    }
    for vote in counted(live, inputs, now).map(|c| c.vote) {
        soonest.add(Some(after(vote.fresh_until(policy.stale_after, inputs.grace_until))));
    }
    if live.incident.as_ref().is_some_and(|incident| !incident.announced) {
        soonest.add(maintenance::quiet_until(inputs.windows, policy.interval, now));
    }
    if matches!(verdict.raw, Raw::Up | Raw::DegradedIntermittent)
        && verdict::may_be_intermittent(verdict, live, inputs, now)
    {
        let window = verdict::intermittent_window(policy.interval, verdict.e);
        for vote in counted(live, inputs, now).map(|c| c.vote) {
            let oldest = verdict::observations(vote)
                .map(|(at, _)| at)
                .take_while(|at| now - at <= window)
                .last();
            soonest.add(oldest.map(|at| after(at + window)));
        }
    }
    soonest.at
}

/// The same for a job that calls: the deadline of its next call, the hold of one that flaps, and the end of
/// maintenance.
pub(super) fn next_of_calls(
    live: &Live,
    inputs: &Inputs<'_>,
    deadline: Option<Millis>,
    now: Millis,
) -> Option<Millis> {
    let mut soonest = Soonest { now, at: None };
    soonest.add(deadline);
    running(live, standpoint(live, inputs)).for_each(|hold| soonest.add(Some(hold.due)));
    if live.incident.as_ref().is_some_and(|incident| !incident.announced) {
        soonest.add(maintenance::quiet_until(inputs.windows, inputs.policy.interval, now));
    }
    soonest.at
}

/// A hold that runs now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    pub toward: State,
    pub began: Millis,
    /// When it ends if the verdict stays as it is.
    pub due: Millis,
}

/// The hold that would end first, of those that can lead out of the present state.
pub fn hold(live: &Live, inputs: &Inputs<'_>, verdict: &Verdict) -> Option<Hold> {
    let policy = inputs.policy;
    let from = standpoint(live, inputs);
    let grave = matches!(live.state, State::Partial | State::Down);
    let waits = |toward, began: Option<Millis>, hold| {
        began.map(|began| Hold { toward, began, due: began + hold })
    };
    match verdict.raw {
        Raw::Insufficient if grave || live.state == State::Unknown => None,
        Raw::Insufficient => waits(State::Unknown, live.timers.blind_since, policy.blind_for),
        Raw::Undecided if grave => None,
        Raw::Undecided => waits(State::Partial, live.timers.split_since, policy.split_for),
        _ => running(live, from).min_by_key(|hold| hold.due),
    }
}

/// The timers with a hold that run. The one toward degraded has none: it waits for a verdict, not for
/// time.
fn running<'a>(live: &'a Live, from: Standpoint<'a>) -> impl Iterator<Item = Hold> + 'a {
    let worse = SEVERITIES.into_iter().zip(live.timers.worse).skip(from.first_worse());
    let worse = worse.filter(|(severity, _)| *severity != Severity::Degraded).filter_map(
        move |(severity, timer)| {
            let timer = timer?;
            Some(Hold {
                toward: severity.into(),
                began: timer.began,
                due: timer.due(from.hold_worse(severity, &timer)),
            })
        },
    );
    let milder = MILDER.into_iter().zip(live.timers.milder).take(from.milder()).filter_map(
        move |(toward, timer)| {
            let timer = timer?;
            Some(Hold { toward, began: timer.began, due: timer.due(from.hold_milder()) })
        },
    );
    worse.chain(milder)
}

pub(super) fn standpoint<'a>(live: &Live, inputs: &Inputs<'a>) -> Standpoint<'a> {
    Standpoint {
        state: live.state,
        open: live.incident.is_some(),
        flapping: live.flaps.flapping,
        policy: inputs.policy,
    }
}

struct Soonest {
    now: Millis,
    at: Option<Millis>,
}

impl Soonest {
    fn add(&mut self, deadline: Option<Millis>) {
        // What is due already waits for the next tick.
        let Some(deadline) = deadline.map(|at| if at > self.now { at } else { self.now + 1000 })
        else {
            return;
        };
        self.at = Some(self.at.map_or(deadline, |at| at.min(deadline)));
    }
}

/// The first full second after an instant that still counts.
fn after(inclusive: Millis) -> Millis {
    (inclusive.div_euclid(1000) + 1) * 1000
}
