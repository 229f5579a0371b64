//! What a decision rests on, in the form in which it is stored with it: enough to come to the same verdict
//! again, by anybody and at any time, whatever has been changed since.

use serde::{Deserialize, Serialize};

use super::ballot::{Ballot, ballots};
use super::{Hold, Inputs, Live, Seat, Verdict, hold, judge};
use crate::domain::Millis;
use crate::domain::maintenance::Window;
use crate::domain::monitor::Policy;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Basis {
    policy: Policy,
    check_version: u32,
    seats: Vec<Seat>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    windows: Vec<Window>,
    #[serde(default)]
    over_cap: bool,
    #[serde(default)]
    grace_until: Option<Millis>,
    /// Votes and timers as the decision left them.
    live: Live,
}

impl Basis {
    pub fn of(live: &Live, inputs: &Inputs<'_>) -> Self {
        Self {
            policy: inputs.policy.clone(),
            check_version: inputs.check_version,
            seats: inputs.seats.to_vec(),
            windows: inputs.windows.to_vec(),
            over_cap: inputs.over_cap,
            grace_until: inputs.grace_until,
            live: live.clone(),
        }
    }

    /// The verdict, taken again.
    pub fn judge(&self) -> Verdict {
        judge(&self.live, &self.inputs(), self.live.folded_at)
    }

    /// The votes table as it was.
    pub fn ballots(&self) -> Vec<Ballot> {
        ballots(&self.live, &self.inputs())
    }

    /// The hold that ran then.
    pub fn hold(&self) -> Option<Hold> {
        hold(&self.live, &self.inputs(), &self.judge())
    }

    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Whether the hold waits, because the votes were undecided.
    pub fn waits(&self) -> bool {
        self.live.timers.paused_since.is_some()
    }

    fn inputs(&self) -> Inputs<'_> {
        Inputs {
            policy: &self.policy,
            check_version: self.check_version,
            seats: &self.seats,
            windows: &self.windows,
            over_cap: self.over_cap,
            grace_until: self.grace_until,
            now: self.live.folded_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::world::World;
    use super::super::tests::{F5, seats};
    use super::*;

    #[test]
    fn it_gives_the_same_verdict_after_it_was_stored() {
        let policy = Policy::defaults(60_000, 10_000, 5);
        let seats = seats(&F5);
        for until in [100_000, 310_000, 340_000, 700_000, 1_000_000] {
            let mut world = World::new(&policy, &seats);
            world.run(until, |location, at| {
                Some((300_000..600_000).contains(&at) && location.0 < 4)
            });
            let inputs = Inputs {
                policy: &policy,
                check_version: 0,
                seats: &seats,
                windows: &[],
                over_cap: false,
                grace_until: None,
                now: world.live.folded_at,
            };
            let basis = Basis::of(&world.live, &inputs);
            let stored = serde_json::to_value(&basis).expect("a value");
            let read: Basis = serde_json::from_value(stored).expect("the same");
            assert_eq!(read, basis);
            assert_eq!(read.judge(), judge(&world.live, &inputs, inputs.now));
            assert_eq!(read.ballots(), ballots(&world.live, &inputs));
        }
    }
}
