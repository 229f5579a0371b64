//! What a person does to a monitor: pausing, going on, deleting.

use super::live::Live;
use super::state::State;
use super::tick::{enter, past};
use super::{Event, StaleChange, StateChange, What};
use crate::domain::Millis;
use crate::domain::incident::Ending;

/// What pausing, resuming and deleting do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Halt {
    pub state_change: Option<StateChange>,
    pub stale_change: Option<StaleChange>,
    pub events: Vec<Event>,
}

/// Pauses by hand: an open incident is resolved with that reason, and all votes are dropped.
pub fn pause(live: &mut Live, now: Millis) -> Halt {
    halt(live, now, State::Paused, Ending::Paused)
}

/// Ends a pause: the monitor is pending, as if new. The last incident may still be reopened.
pub fn resume(live: &mut Live, now: Millis) -> Halt {
    let now = now.max(live.folded_at);
    if live.state != State::Paused {
        return Halt::default();
    }
    live.folded_at = now;
    Halt { state_change: Some(enter(live, State::Pending, now, now)), ..Halt::default() }
}

/// Before a monitor is deleted: resolves its open incident with that reason.
pub fn delete(live: &mut Live, now: Millis) -> Halt {
    halt(live, now, State::Paused, Ending::Deleted)
}

fn halt(live: &mut Live, now: Millis, to: State, ending: Ending) -> Halt {
    let now = now.max(live.folded_at);
    let mut halt = Halt::default();
    if let Some(incident) = live.incident.take() {
        let what = What::Resolved { ended_at: now, ending };
        halt.events.push(Event { at: now, suppressed: !incident.announced, what });
        live.past = Some(past(&incident, now));
    }
    if live.evidence_stale {
        halt.stale_change = Some(StaleChange { stale: false, at: now });
    }
    if live.state != to {
        halt.state_change = Some(enter(live, to, now, now));
    }
    *live = Live {
        folded_at: now,
        state: to,
        since: live.since,
        before: live.before,
        past: live.past.take(),
        ..Live::default()
    };
    halt
}
