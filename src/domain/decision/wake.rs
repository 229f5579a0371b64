//! When silence alone may change something. Deciding only when reports come and at this time gives the
//! same as deciding every second.

use super::state::{MILDER, SEVERITIES, Standpoint, State};
use super::verdict::{self, Raw, Verdict, counted};
use super::{Inputs, Live};
use crate::domain::{Millis, maintenance};

/// The next deadline after `now`; none while silence can change nothing. Holds end exactly; what ends
/// by being older than a limit is seen by the sweep that follows, at the next full second.
pub(super) fn next(live: &Live, inputs: &Inputs<'_>, verdict: &Verdict, now: Millis) -> Option<Millis> {
    let policy = inputs.policy;
    let from = Standpoint {
        state: live.state,
        open: live.incident.is_some(),
        flapping: live.flaps.flapping,
        policy,
    };
    let grave = matches!(live.state, State::Partial | State::Down);
    let mut soonest = Soonest { now, at: None };
    match verdict.raw {
        Raw::Insufficient if grave || live.state == State::Unknown => {}
        Raw::Insufficient => soonest.add(live.timers.blind_since.map(|since| since + policy.blind_for)),
        Raw::Undecided if grave => {}
        Raw::Undecided => soonest.add(live.timers.split_since.map(|since| since + policy.split_for)),
        _ => holds(live, from, verdict, &mut soonest),
    }
    for vote in counted(live, inputs, now).map(|c| c.vote) {
        soonest.add(Some(after(vote.fresh_until(policy.stale_after, inputs.grace_until))));
    }
    if live.incident.as_ref().is_some_and(|incident| !incident.announced) {
        soonest.add(maintenance::quiet_until(inputs.windows, policy.interval, now));
    }
    if matches!(verdict.raw, Raw::Up | Raw::DegradedIntermittent) && verdict::may_be_intermittent(verdict, live, inputs, now)
    {
        let window = verdict::intermittent_window(policy.interval, verdict.e);
        for vote in counted(live, inputs, now).map(|c| c.vote) {
            let oldest = verdict::observations(vote).map(|(at, _)| at).take_while(|at| now - at <= window).last();
            soonest.add(oldest.map(|at| after(at + window)));
        }
    }
    soonest.at
}

fn holds(live: &Live, from: Standpoint<'_>, verdict: &Verdict, soonest: &mut Soonest) {
    let worse = SEVERITIES.into_iter().zip(&live.timers.worse).skip(from.first_worse());
    for (severity, timer) in worse {
        // The timer toward degraded has no hold: it waits for a verdict, not for time.
        if severity.name() != "degraded" {
            soonest.add(timer.map(|timer| timer.due(from.hold_worse(severity, &timer))));
        }
    }
    for (_, timer) in MILDER.into_iter().zip(&live.timers.milder).take(from.milder()) {
        soonest.add(timer.map(|timer| timer.due(from.hold_milder())));
    }
    // Leaving unknown for up is due at once, but a tick makes one transition only.
    let loose = !from.open && matches!(from.state, State::Pending | State::Unknown);
    if loose && verdict.raw == Raw::Up {
        soonest.add(Some(soonest.now));
    }
}

struct Soonest {
    now: Millis,
    at: Option<Millis>,
}

impl Soonest {
    fn add(&mut self, deadline: Option<Millis>) {
        // What is due already waits for the next tick.
        let Some(deadline) = deadline.map(|at| if at > self.now { at } else { self.now + 1000 }) else { return };
        self.at = Some(self.at.map_or(deadline, |at| at.min(deadline)));
    }
}

/// The first full second after an instant that still counts.
fn after(inclusive: Millis) -> Millis {
    (inclusive.div_euclid(1000) + 1) * 1000
}
