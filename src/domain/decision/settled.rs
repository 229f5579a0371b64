//! Up to where a monitor's past is told (spec: slo, "Watermark"): what a decision may still date back is not.

use super::live::Live;
use super::state::State;
use crate::domain::Millis;

/// Results that are under way may still arrive.
const UNDER_WAY: Millis = 5_000;

/// The instant up to which the states of a monitor are final, but for late reports and edits of the policy.
///
/// A beginning is dated back to the first fail of a run, an end to the first pass: runs and timers that may
/// still lead to one hold the watermark at their start. Runs that began more than `stale_after` before the
/// first running timer are no evidence of the transition that it leads to, so that a location that fails
/// alone for days holds nothing up.
pub fn watermark(live: &Live, stale_after: Millis, now: Millis) -> Millis {
    let timers = live.timers.worse.iter().chain(&live.timers.milder).flatten().map(|t| t.began);
    let grave = matches!(live.state, State::Partial | State::Down);
    // Blind time is told already once it is unknown, or kept as stale.
    let told = matches!(live.state, State::Unknown | State::Pending | State::Paused);
    let blind = live.timers.blind_since.filter(|_| !told && !live.evidence_stale);
    let halts = [blind, live.timers.split_since.filter(|_| !grave)];
    let limit = timers.chain(halts.into_iter().flatten()).fold(now - UNDER_WAY, Millis::min);
    let oldest = limit.min(now) - stale_after;
    let counts = |since: Option<Millis>| since.filter(|since| *since >= oldest);
    let troubled = grave || live.state == State::Degraded;
    live.votes.iter().fold(limit, |mut least, vote| {
        if live.state != State::Down && vote.fails > 0 {
            least = least.min(counts(vote.fails_since).unwrap_or(least));
        }
        if troubled && vote.passes > 0 {
            least = least.min(counts(vote.passes_since).unwrap_or(least));
        }
        least
    })
}

#[cfg(test)]
mod tests {
    use super::super::state::Timer;
    use super::super::vote::Vote;
    use super::*;
    use crate::domain::ids::LocationKey;

    fn vote(fails_since: Option<Millis>, passes_since: Option<Millis>) -> Vote {
        Vote {
            fails: u32::from(fails_since.is_some()),
            fails_since,
            passes: u32::from(passes_since.is_some()),
            passes_since,
            ..Vote::of(LocationKey(1))
        }
    }

    fn live(state: State, votes: Vec<Vote>) -> Live {
        Live { state, votes, ..Live::default() }
    }

    #[test]
    fn runs_and_timers_that_may_still_lead_somewhere_hold_it() {
        let calm = live(State::Up, vec![vote(None, Some(100_000))]);
        assert_eq!(watermark(&calm, 150_000, 1_000_000), 995_000);
        let failing = live(State::Up, vec![vote(Some(940_000), None), vote(None, Some(1))]);
        assert_eq!(watermark(&failing, 150_000, 1_000_000), 940_000);
        let down = live(State::Down, vec![vote(Some(940_000), None)]);
        assert_eq!(watermark(&down, 150_000, 1_000_000), 995_000, "begun already");
        let recovering = live(State::Down, vec![vote(Some(500_000), Some(970_000))]);
        assert_eq!(watermark(&recovering, 150_000, 1_000_000), 970_000);
        let mut held = live(State::Up, vec![vote(Some(820_000), None)]);
        held.timers.worse[2] = Some(Timer { began: 960_000, paused: 0, low: false });
        assert_eq!(watermark(&held, 150_000, 1_000_000), 820_000);
        assert_eq!(watermark(&held, 100_000, 1_000_000), 960_000, "too old for this transition");
        let mut blind = live(State::Up, Vec::new());
        blind.timers.blind_since = Some(930_000);
        assert_eq!(watermark(&blind, 150_000, 1_000_000), 930_000);
        blind.state = State::Unknown;
        assert_eq!(watermark(&blind, 150_000, 1_000_000), 995_000, "it is told as unknown already");
    }

    #[test]
    fn a_location_that_fails_alone_for_days_holds_nothing() {
        let one = live(State::Up, vec![vote(Some(1_000), None), vote(None, Some(5))]);
        assert_eq!(watermark(&one, 150_000, 900_000_000), 899_995_000);
    }
}
