//! The vote of one location on one monitor (spec: decision 5.2): a fold over what it reported.

use serde::{Deserialize, Serialize};

use super::Seen;
use super::history::History;
use crate::domain::Millis;
use crate::domain::ids::LocationKey;
use crate::domain::monitor::Policy;
use crate::domain::observation::{Class, Outcome};

#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum VoteState {
    /// Nothing was folded yet.
    #[default]
    None,
    Up,
    /// Up, but slower than allowed in 3 of the last 5 passes.
    Slow,
    /// Fails, but not often enough in a row.
    Suspect,
    Down,
    /// Was down and passes again, but not often enough in a row.
    Recovering,
}

impl VoteState {
    pub fn name(self) -> &'static str {
        match self {
            VoteState::None => "none",
            VoteState::Up => "up",
            VoteState::Slow => "slow",
            VoteState::Suspect => "suspect",
            VoteState::Down => "down",
            VoteState::Recovering => "recovering",
        }
    }

    pub(super) fn code(self) -> u8 {
        self as u8
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        [Self::None, Self::Up, Self::Slow, Self::Suspect, Self::Down, Self::Recovering]
            .get(usize::from(code))
            .copied()
    }
}

/// What a location saw last; for the sentence and the scope, never for the verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Saw {
    pub class: Option<Class>,
    pub status: Option<u16>,
    pub latency: Millis,
    /// The address connected to.
    pub address: Option<String>,
    /// The autonomous system of that address.
    pub asn: Option<u32>,
    /// The point of presence that a content network named in its answer.
    pub pop: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Vote {
    pub location: LocationKey,
    pub state: VoteState,
    /// Version of the check that it speaks of.
    pub version: u32,
    /// Effective time of the last fold.
    pub last: Millis,
    /// Counted fails in a row.
    pub fails: u32,
    /// First fail of the run; kept from down through recovering and back.
    pub fails_since: Option<Millis>,
    /// Last counted fail of the run; 0 without one.
    pub last_fail: Millis,
    /// Passes in a row.
    pub passes: u32,
    pub passes_since: Option<Millis>,
    /// The last five passes, newest lowest; a set bit was slower than allowed.
    pub slow: u8,
    /// Effective time of the newest entry of the history.
    pub counted: Millis,
    pub history: History,
    /// A decision has found it stale; a restart does not freshen it.
    pub lapsed: bool,
    /// The location was believed at the last decision.
    pub believed: bool,
    pub saw: Saw,
}

/// What one observation did to a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    pub from: VoteState,
    pub to: VoteState,
    /// It came too soon after the last fail to count as another.
    pub freshness_only: bool,
    pub first_fail: bool,
    pub first_pass_at_down: bool,
}

impl Vote {
    pub fn of(location: LocationKey) -> Self {
        Self {
            location,
            state: VoteState::None,
            version: 0,
            last: 0,
            fails: 0,
            fails_since: None,
            last_fail: 0,
            passes: 0,
            passes_since: None,
            slow: 0,
            counted: 0,
            history: History::default(),
            lapsed: false,
            believed: true,
            saw: Saw::default(),
        }
    }

    /// Until when it counts, and whether it does; `grace` is the end of the grace after a restart.
    pub fn fresh_until(&self, stale_after: Millis, grace: Option<Millis>) -> Millis {
        let deadline = self.last + stale_after;
        match grace {
            Some(grace) if !self.lapsed => deadline.max(grace),
            _ => deadline,
        }
    }

    /// Folds an observation that passed the door (see `admit`). `keep` is how long the history reaches
    /// back, in seconds.
    pub fn fold(&mut self, seen: &Seen, policy: &Policy, keep: i64) -> Effect {
        let from = self.state;
        if seen.check_version > self.version {
            // The old vote spoke of another check.
            *self = Self {
                version: seen.check_version,
                believed: self.believed,
                ..Self::of(seen.location)
            };
        } else if self.state != VoteState::None && seen.at - self.last > policy.stale_after {
            self.fails = 0;
            self.fails_since = None;
            self.last_fail = 0;
            self.passes = 0;
            self.passes_since = None;
        }
        self.last = seen.at;
        self.lapsed = false;
        let mut effect = Effect {
            from,
            to: from,
            freshness_only: false,
            first_fail: false,
            first_pass_at_down: false,
        };
        match seen.outcome {
            Outcome::Pass => {
                effect.first_pass_at_down = self.state == VoteState::Down;
                self.pass(seen, policy, keep);
            }
            Outcome::Fail | Outcome::Error => {
                if self.fails > 0 && seen.at - self.last_fail < policy.min_separation {
                    effect.freshness_only = true;
                } else {
                    self.fail(seen, policy, keep);
                    effect.first_fail = self.fails == 1;
                }
            }
        }
        self.remember(seen);
        effect.to = self.state;
        effect
    }

    fn fail(&mut self, seen: &Seen, policy: &Policy, keep: i64) {
        self.fails = self.fails.saturating_add(1);
        self.fails_since.get_or_insert(seen.at);
        self.last_fail = seen.at;
        self.passes = 0;
        self.passes_since = None;
        let long = self.fails >= policy.fail_after;
        if long && self.fails == policy.fail_after {
            self.history.lengthen(self.fails - 1);
        }
        self.note(seen.at, !long, keep);
        self.state = if long || matches!(self.state, VoteState::Down | VoteState::Recovering) {
            VoteState::Down
        } else {
            VoteState::Suspect
        };
    }

    fn pass(&mut self, seen: &Seen, policy: &Policy, keep: i64) {
        self.fails = 0;
        self.last_fail = 0;
        self.passes = self.passes.saturating_add(1);
        self.passes_since.get_or_insert(seen.at);
        let slow = policy.slow.is_some_and(|limit| seen.latency_ms > limit);
        self.slow = (self.slow << 1 | u8::from(slow)) & 0b1_1111;
        self.note(seen.at, false, keep);
        let was_down = matches!(self.state, VoteState::Down | VoteState::Recovering);
        self.state = if was_down && self.passes < policy.pass_after {
            VoteState::Recovering
        } else {
            self.fails_since = None;
            if policy.slow.is_some() && self.slow.count_ones() >= 3 {
                VoteState::Slow
            } else {
                VoteState::Up
            }
        };
    }

    fn note(&mut self, at: Millis, short_fail: bool, keep: i64) {
        self.history.push(at.div_euclid(1000) - self.counted.div_euclid(1000), short_fail, keep);
        self.counted = at;
    }

    fn remember(&mut self, seen: &Seen) {
        let saw = &mut self.saw;
        (saw.class, saw.status, saw.latency, saw.asn) =
            (seen.class, seen.status, seen.latency_ms, seen.asn);
        // Nearly always the same as before, and then nothing is allocated.
        if saw.address != seen.address {
            saw.address.clone_from(&seen.address);
        }
        if saw.pop != seen.pop {
            saw.pop.clone_from(&seen.pop);
        }
    }
}
