//! What must hold for any scenario.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::verdict::{Raw, judge};
use super::super::{
    Inputs, Live, Seat, Seen, Standing, State, StateChange, Step, VoteState, What, step,
};
use super::seats;
use crate::domain::Millis;
use crate::domain::ids::LocationKey;
use crate::domain::maintenance::{Switches, Window};
use crate::domain::monitor::{Policy, Quorum};
use crate::domain::observation::{Outcome, RunKind};

#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) seats: Vec<Seat>,
    pub(super) policy: Policy,
    pub(super) windows: Vec<Window>,
    pub(super) seen: Vec<Seen>,
    /// The first tick.
    pub(super) from: Millis,
    /// Seconds from the first tick to the last.
    pub(super) until: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    pub(super) events: Vec<(Millis, String)>,
    pub(super) states: Vec<StateChange>,
    pub(super) stale: Vec<(Millis, bool)>,
    /// Resolves: the tick, and when the trouble ended.
    pub(super) ended: Vec<(Millis, Millis)>,
    live: Live,
}

impl Scene {
    pub(super) fn inputs(&self, now: Millis) -> Inputs<'_> {
        Inputs {
            policy: &self.policy,
            check_version: 0,
            seats: &self.seats,
            windows: &self.windows,
            over_cap: false,
            grace_until: None,
            now,
        }
    }

    pub(super) fn arriving(&self, now: Millis) -> Vec<Seen> {
        self.seen.iter().filter(|seen| seen.received == now).cloned().collect()
    }

    /// Decides at the given times, the last of which is the end.
    fn told(&self, mut next: impl FnMut(Millis, Option<Millis>) -> Millis) -> Told {
        let mut told = Told {
            events: vec![],
            states: vec![],
            stale: vec![],
            ended: vec![],
            live: Live::default(),
        };
        let mut now = self.from;
        let end = self.from + self.until * 1000;
        loop {
            let step = step(&mut told.live, &self.inputs(now), &self.arriving(now));
            told.note(&step);
            if now >= end {
                return told;
            }
            now = next(now, step.wake_at).min(end);
        }
    }

    pub(super) fn every_second(&self) -> Told {
        self.told(|now, _| now + 1000)
    }

    fn when_woken(&self) -> Told {
        self.told(|now, wake| {
            let report = self.seen.iter().map(|seen| seen.received).filter(|at| *at > now).min();
            report.into_iter().chain(wake).min().unwrap_or(Millis::MAX)
        })
    }
}

impl Told {
    fn note(&mut self, step: &Step) {
        self.events.extend(step.events.iter().filter_map(|event| Some((event.at, event.word()?))));
        self.ended.extend(step.events.iter().filter_map(|event| match event.what {
            What::Resolved { ended_at, .. } => Some((event.at, ended_at)),
            _ => None,
        }));
        self.states.extend(step.state_change);
        self.stale.extend(step.stale_change.map(|change| (change.at, change.stale)));
    }
}

fn fleet() -> impl Strategy<Value = Vec<Seat>> {
    vec((0..3_u8, 0..4_u8), 1..=6).prop_map(|labels| {
        let names: Vec<(String, String, String)> = labels
            .iter()
            .enumerate()
            .map(|(index, (region, domain))| {
                (format!("l{index}"), format!("r{region}"), format!("P{domain}"))
            })
            .collect();
        let borrowed: Vec<(&str, &str, &str)> =
            names.iter().map(|(a, b, c)| (&**a, &**b, &**c)).collect();
        seats(&borrowed)
    })
}

fn policy(n: usize) -> impl Strategy<Value = Policy> {
    let quorum = prop_oneof![
        4 => Just(Quorum::Majority),
        1 => Just(Quorum::Any),
        1 => Just(Quorum::All),
        1 => (1..5_u32).prop_map(Quorum::AtLeast),
        1 => (20..100_u32).prop_map(Quorum::Percent),
    ];
    let holds = (prop::sample::select(vec![0, 30, 90]), prop::sample::select(vec![40, 200, 600]));
    (quorum, 1..=3_u32, 1..=3_u32, holds, any::<bool>(), prop::sample::select(vec![30, 60]))
        .prop_map(move |(quorum, fail_after, pass_after, (confirm, split), slow, interval)| {
            Policy {
                quorum,
                fail_after,
                pass_after,
                confirm_for: confirm * 1000,
                split_for: split * 1000,
                slow: slow.then_some(1000),
                ..Policy::defaults(interval * 1000, 10_000, n)
            }
        })
}

/// One observation of a location: seconds since its last, how it went, whether late, its kind.
#[derive(Debug, Clone)]
struct Beat {
    gap: i64,
    outcome: Outcome,
    late: i64,
    manual: bool,
    slow: bool,
}

fn beat() -> impl Strategy<Value = Beat> {
    let gap = prop_oneof![2 => 2..12_i64, 6 => 20..70_i64, 1 => 100..400_i64];
    let late = prop_oneof![8 => Just(0), 1 => 1..40_i64, 1 => 100..200_i64];
    let outcome = prop_oneof![9 => Just(Outcome::Pass), 1 => Just(Outcome::Error)];
    (gap, outcome, late, prop::bool::weighted(0.03), prop::bool::weighted(0.3))
        .prop_map(|(gap, outcome, late, manual, slow)| Beat { gap, outcome, late, manual, slow })
}

/// Outages of the target as some locations see them: `(from, to, who)`.
fn outages() -> impl Strategy<Value = Vec<(i64, i64, u8)>> {
    vec((0..2000_i64, 10..500_i64, any::<u8>()), 0..8).prop_map(|all| {
        all.into_iter().map(|(from, length, who)| (from, from + length, who)).collect()
    })
}

pub(super) fn scene(with_windows: bool) -> impl Strategy<Value = Scene> {
    fleet().prop_flat_map(move |seats| {
        let n = seats.len();
        let windows = vec((0..2000_i64, 20..400_i64), 0..=(if with_windows { 2 } else { 0 }));
        (Just(seats), policy(n), vec(vec(beat(), 0..70), n), outages(), windows).prop_map(
            |(seats, policy, beats, outages, windows)| {
                let mut seen = Vec::new();
                for (index, beats) in beats.into_iter().enumerate() {
                    let mut at = index as i64 * 7;
                    for beat in beats {
                        at += beat.gap;
                        let hit = |(from, to, who): &(i64, i64, u8)| {
                            at >= *from && at < *to && who >> index & 1 == 1
                        };
                        let failing = beat.outcome == Outcome::Pass && outages.iter().any(hit);
                        let outcome = if failing { Outcome::Fail } else { beat.outcome };
                        let location = LocationKey(index as i16);
                        seen.push(Seen {
                            received: (at + beat.late) * 1000,
                            kind: if beat.manual { RunKind::Manual } else { RunKind::Scheduled },
                            latency_ms: if beat.slow { 3000 } else { 100 },
                            ..Seen::new(location, at * 1000, outcome)
                        });
                    }
                }
                seen.retain(|seen| seen.received <= 2_400_000);
                seen.sort_by_key(|seen| seen.received);
                let windows = windows
                    .into_iter()
                    .map(|(start, length)| Window {
                        start: start * 1000,
                        end: (start + length) * 1000,
                        switches: Switches::default(),
                    })
                    .collect();
                Scene { seats, policy, windows, seen, from: 0, until: 2_600 }
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn deciding_when_woken_is_deciding_every_second(scene in scene(true)) {
        let (seconds, woken) = (scene.every_second(), scene.when_woken());
        prop_assert_eq!(&seconds.events, &woken.events);
        prop_assert_eq!(seconds, woken);
    }

    #[test]
    fn storing_between_two_decisions_changes_nothing(scene in scene(true)) {
        let (mut kept, mut stored) = (Live::default(), Live::default());
        let mut times: Vec<Millis> = scene.seen.iter().map(|seen| seen.received).collect();
        times.dedup();
        let mut wake = None;
        let end = scene.until * 1000;
        let mut now = 0;
        while now < end {
            now = times.iter().copied().find(|at| *at > now).into_iter().chain(wake).min().unwrap_or(end).min(end);
            let one = step(&mut kept, &scene.inputs(now), &scene.arriving(now));
            let other = step(&mut stored, &scene.inputs(now), &scene.arriving(now));
            wake = one.wake_at;
            prop_assert_eq!(one, other);
            let text = serde_json::to_vec(&stored).expect("plain data");
            stored = serde_json::from_slice(&text).expect("our own text");
            prop_assert_eq!(&kept, &stored);
        }
    }

    #[test]
    fn the_order_between_locations_and_repeated_reports_change_nothing(
        scene in scene(false),
        seed in any::<u64>(),
    ) {
        let mut other = scene.clone();
        // Every seventh report comes twice, the second time a little later.
        let again: Vec<Seen> = other
            .seen
            .iter()
            .enumerate()
            .filter(|(index, _)| (*index as u64 + seed).is_multiple_of(7))
            .map(|(_, seen)| Seen { received: seen.received + 3_000, ..seen.clone() })
            .collect();
        other.seen.extend(again);
        // Within one instant the locations come in another order, each location's reports in its own.
        let turn = (seed % 5) as i16;
        other.seen.sort_by_key(|seen| (seen.received, (seen.location.0 + turn) % 6));
        let (one, other) = (scene.every_second(), other.every_second());
        prop_assert_eq!(one, other);
    }

    #[test]
    fn silence_neither_opens_nor_closes_nor_moves_anything(mut scene in scene(false), from in 200..2000_i64) {
        scene.seen.retain(|seen| seen.received <= from * 1000);
        scene.until = from + 5_000;
        let told = scene.every_second();
        // Once the last vote is stale, nobody knows anything.
        let silent = from * 1000 + scene.policy.stale_after + 1000;
        for (at, word) in &told.events {
            prop_assert!(*at <= silent || word == "blind", "{word} at {at}, silent since {silent}");
        }
        let known = told.states.iter().rfind(|change| change.to != State::Unknown).map(|change| change.to);
        match known {
            Some(State::Partial | State::Down) => {
                prop_assert_eq!(Some(told.live.state), known);
                prop_assert!(told.live.evidence_stale && told.live.incident.is_some());
            }
            _ => prop_assert_eq!(told.live.state, State::Unknown),
        }
    }

    #[test]
    fn the_length_of_a_silence_does_not_change_an_outage(
        mut scene in scene(false),
        from in 200..2000_i64,
        longer in 1..3000_i64,
    ) {
        scene.seen.retain(|seen| seen.received <= from * 1000);
        // Shifted by how long the silence was, everything after it is the same.
        let after = |length: i64| {
            let mut scene = scene.clone();
            let back = from + length;
            for at in (back..back + 1200).step_by(20) {
                scene.seen.extend(scene.seats.iter().map(|seat| Seen::new(seat.key, at * 1000, Outcome::Pass)));
            }
            scene.until = back + 1200;
            let told = scene.when_woken();
            let later = |at: &Millis| *at >= back * 1000;
            let shift = |at: Millis| at - back * 1000;
            let events: Vec<_> =
                told.events.iter().filter(|(at, _)| later(at)).map(|(at, word)| (shift(*at), word.clone())).collect();
            let ended: Vec<_> =
                told.ended.iter().filter(|(at, _)| later(at)).map(|(_, ended)| shift(*ended)).collect();
            let past = told.live.past.as_ref().map(|past| past.started_at).filter(|at| *at < from * 1000);
            let before: Vec<_> = told.events.iter().filter(|(at, _)| !later(at)).cloned().collect();
            (events, ended, past, before)
        };
        // Longer than anything that is remembered: staleness, reopening, flapping, the intermittent rule.
        let short = 2_000;
        prop_assert_eq!(after(short), after(short + longer));
    }

}

proptest! {
    // One verdict costs little, and the rare shapes of a fleet matter.
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_more_location_that_fails_never_makes_the_verdict_milder(
        seats in fleet(),
        votes in vec(prop::sample::select(vec![
            VoteState::None, VoteState::Up, VoteState::Up, VoteState::Suspect, VoteState::Down, VoteState::Recovering,
        ]), 6),
        policy in policy(5),
        aside in vec(prop::bool::weighted(0.1), 6),
    ) {
        let mut seats = seats;
        for (seat, aside) in seats.iter_mut().zip(aside) {
            seat.standing = if aside { Standing::Quarantined } else { Standing::Counted };
        }
        let inputs = Inputs {
            policy: &policy, check_version: 0, seats: &seats, windows: &[], over_cap: false, grace_until: None, now: 1000,
        };
        let live = |votes: &[VoteState]| {
            let mut live = Live::default();
            for (seat, state) in seats.iter().zip(votes) {
                let mut vote = super::super::Vote::of(seat.key);
                (vote.state, vote.last) = (*state, 1000);
                live.votes.push(vote);
            }
            live
        };
        let before = judge(&live(&votes), &inputs, 1000).raw;
        for index in (0..seats.len()).filter(|index| votes[*index] == VoteState::Up) {
            let mut raised = votes.clone();
            raised[index] = VoteState::Down;
            let after = judge(&live(&raised), &inputs, 1000).raw;
            prop_assert!(rank(after) >= rank(before), "{before:?} became {after:?}");
        }
    }
}

/// By how much is wrong; too few votes say the least.
fn rank(raw: Raw) -> u8 {
    match raw {
        Raw::Insufficient => 0,
        Raw::Up => 1,
        Raw::DegradedSlow | Raw::DegradedIntermittent => 2,
        Raw::Undecided => 3,
        Raw::Partial => 4,
        Raw::DownLow | Raw::Down => 5,
    }
}
