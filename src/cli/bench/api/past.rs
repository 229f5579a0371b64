//! What happened to a monitor, made from its number alone, so that every run finds the same past.

use crate::domain::{
    Millis,
    decision::State,
    ids::LocationKey,
    observation::{Class, Outcome, RunKind},
    rollup::Sample,
};

pub(super) const MINUTE: Millis = 60_000;
const HOUR: Millis = 60 * MINUTE;

/// The beginning of a state; it holds until the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    pub at: Millis,
    pub state: State,
    /// The votes behind it went stale.
    pub stale: bool,
}

/// A mixture of numbers that looks like chance.
fn dice(parts: [u64; 3]) -> u64 {
    parts.into_iter().fold(0x9e37_79b9_7f4a_7c15, |mut mixed, part| {
        mixed = (mixed ^ part).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

/// Something every three days or so: an outage, a region that cannot reach it, slowness, silence. Edges lie
/// on odd milliseconds, and at the end it is up.
pub(super) fn turns(monitor: u64, from: Millis, to: Millis) -> Vec<Turn> {
    let turn = |at, state| Turn { at, state, stale: false };
    let mut all = vec![turn(from, State::Up)];
    let mut at = from;
    for number in 0.. {
        let chance = dice([monitor, number, 0]);
        let within = |part: u64, most: u64| (dice([monitor, number, part]) % most) as Millis;
        at += 24 * HOUR + within(1, 96 * 3_600_000);
        let short = 2 * MINUTE + within(2, 38 * 60_000);
        let long = 10 * MINUTE + within(2, 110 * 60_000);
        let (state, length) = match chance % 10 {
            0..3 => (State::Down, short),
            3..6 => (State::Partial, short),
            6..8 => (State::Degraded, long),
            8 => (State::Unknown, short),
            _ => (State::Down, long),
        };
        if at + length >= to - HOUR {
            return all;
        }
        all.push(turn(at, state));
        if chance % 10 == 9 {
            // An outage whose end nobody saw: silence for its second half.
            all.push(Turn { at: at + length / 2, state, stale: true });
        }
        at += length;
        all.push(turn(at, State::Up));
    }
    all
}

/// What a location saw in the minute that begins at `minute`: one scheduled run.
pub(super) fn sample(
    turns: &[Turn],
    monitor: u64,
    (place, location): (usize, LocationKey),
    minute: Millis,
) -> (Millis, Sample) {
    let at = minute + (dice([monitor, place as u64, 1]) % 60_000) as Millis;
    let chance = dice([monitor, place as u64, minute as u64]);
    let next = turns.partition_point(|turn| turn.at <= at);
    let state = turns.get(next.saturating_sub(1)).map_or(State::Up, |turn| turn.state);
    let outcome = match state {
        State::Down => Outcome::Fail,
        State::Partial if place == 0 => Outcome::Fail,
        State::Unknown => Outcome::Error,
        _ if chance.is_multiple_of(2_000) => Outcome::Fail,
        _ => Outcome::Pass,
    };
    let slow = state == State::Degraded || (chance >> 20).is_multiple_of(60);
    let us = (20_000 + 15_000 * place as u32 + (chance >> 32) as u32 % 40_000)
        * if slow { 8 } else { 1 };
    let class = match outcome {
        Outcome::Pass => None,
        Outcome::Fail => Some(Class::Status),
        Outcome::Error => Some(Class::AgentOverload),
    };
    let sample = Sample {
        at_s: at.div_euclid(1_000),
        location,
        outcome,
        class,
        kind: RunKind::Scheduled,
        total_us: us,
        outdated: false,
    };
    (at, sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_past_is_the_same_every_time_and_in_order() {
        let year = 365 * 24 * HOUR;
        let one = turns(7, 1_000, year);
        assert_eq!(one, turns(7, 1_000, year));
        assert_ne!(one, turns(8, 1_000, year));
        assert!(one.windows(2).all(|pair| pair[0].at < pair[1].at));
        assert!((180..320).contains(&one.len()), "{}", one.len());
        assert_eq!(one.last().map(|turn| turn.state), Some(State::Up));
        for state in [State::Down, State::Partial, State::Degraded, State::Unknown] {
            assert!(one.iter().any(|turn| turn.state == state), "{state:?}");
        }
    }

    #[test]
    fn runs_say_what_the_state_of_their_time_says() {
        let turns = [
            Turn { at: 0, state: State::Up, stale: false },
            Turn { at: 600_000, state: State::Down, stale: false },
            Turn { at: 1_200_000, state: State::Up, stale: false },
        ];
        let seen = |minute| sample(&turns, 3, (1, LocationKey(2)), minute * MINUTE).1.outcome;
        assert!((11..19).all(|minute| seen(minute) == Outcome::Fail));
        assert!((21..40).all(|minute| seen(minute) == Outcome::Pass));
    }
}
