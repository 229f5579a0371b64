//! What must have been seen before anything is said, counted from the reports alone.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::{Live, Seen, VoteState, What, step};
use super::properties::{Scene, scene};
use crate::domain::Millis;
use crate::domain::incident::Severity;
use crate::domain::observation::{Outcome, RunKind};

/// The reports of one location that may speak, from old to new: neither errors nor runs by hand, neither
/// stale on arrival nor overtaken.
fn heard(scene: &Scene, seat: usize, now: Millis) -> Vec<&Seen> {
    let mut all: Vec<&Seen> = Vec::new();
    for seen in scene.seen.iter().filter(|seen| seen.received <= now) {
        if seen.location == scene.seats[seat].key
            && seen.outcome != Outcome::Error
            && seen.kind != RunKind::Manual
            && seen.received - seen.at <= scene.policy.stale_after
            && all.last().is_none_or(|last| last.at < seen.at)
        {
            all.push(seen);
        }
    }
    all
}

/// Seats whose last report is fresh and has this outcome.
fn lately(scene: &Scene, now: Millis, outcome: Outcome) -> Vec<usize> {
    let fresh = |seat: &usize| {
        heard(scene, *seat, now).last().is_some_and(|last| {
            last.outcome == outcome && now - last.at <= scene.policy.stale_after
        })
    };
    (0..scene.seats.len()).filter(fresh).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_called_down_without_enough_who_failed_and_nothing_ends_without_enough_who_passed(
        scene in scene(true),
    ) {
        let mut live = Live::default();
        for second in 0..=scene.until {
            let now = second * 1000;
            let step = step(&mut live, &scene.inputs(now), &scene.arriving(now));
            let v = &step.verdict;
            for event in &step.events {
                match event.what {
                    What::Opened { severity: Severity::Down, low, .. } => {
                        let failing = lately(&scene, now, Outcome::Fail);
                        let domains: BTreeSet<&str> =
                            failing.iter().map(|seat| scene.seats[*seat].domain.as_str()).collect();
                        if low {
                            let speaking = failing.len() + lately(&scene, now, Outcome::Pass).len();
                            prop_assert!(failing.len() >= 2 && failing.len() == speaking);
                        } else {
                            prop_assert!(failing.len() >= v.q && domains.len() >= v.nd);
                        }
                        // Each of them failed often enough without a pass between.
                        for seat in failing.iter().filter(|seat| v.down.contains(&scene.seats[**seat].key)) {
                            let vote = live.vote(scene.seats[*seat].key).map(|vote| vote.state);
                            prop_assert_eq!(vote, Some(VoteState::Down));
                            let all = heard(&scene, *seat, now);
                            let last_run = all.iter().rev().take_while(|seen| seen.outcome == Outcome::Fail).count();
                            let was_down = all.iter().filter(|seen| seen.outcome == Outcome::Fail).count();
                            prop_assert!(last_run >= 1 && was_down >= scene.policy.fail_after as usize);
                        }
                    }
                    What::Resolved { ended_at, .. } => {
                        let passing = lately(&scene, now, Outcome::Pass);
                        prop_assert!(passing.len() >= v.qu.max(1), "{} of {}", passing.len(), v.qu);
                        prop_assert!(ended_at <= now);
                    }
                    What::Escalated { .. } | What::Downgraded { .. } | What::Reopened { .. } => {
                        prop_assert!(v.e > 0, "somebody must have been heard");
                    }
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn errors_and_runs_by_hand_change_nothing(scene in scene(true)) {
        let mut without = scene.clone();
        without.seen.retain(|seen| seen.outcome != Outcome::Error && seen.kind != RunKind::Manual);
        prop_assert_eq!(scene.every_second(), without.every_second());
    }

    #[test]
    fn what_is_decided_does_not_depend_on_the_date(scene in scene(true), days in 1..40_000_i64) {
        let by = days * 86_400_000;
        let mut later = scene.clone();
        later.from += by;
        for seen in &mut later.seen {
            seen.at += by;
            seen.received += by;
        }
        for window in &mut later.windows {
            window.start += by;
            window.end += by;
        }
        let (now, then) = (scene.every_second(), later.every_second());
        let events: Vec<_> = now.events.into_iter().map(|(at, word)| (at + by, word)).collect();
        prop_assert_eq!(events, then.events);
        let ended: Vec<_> = now.ended.into_iter().map(|(at, ended)| (at + by, ended + by)).collect();
        prop_assert_eq!(ended, then.ended);
        let stale: Vec<_> = now.stale.into_iter().map(|(at, stale)| (at + by, stale)).collect();
        prop_assert_eq!(stale, then.stale);
        let states = |all: Vec<super::super::StateChange>, by: Millis| -> Vec<_> {
            all.into_iter().map(|change| (change.from, change.to, change.at + by, change.since + by)).collect()
        };
        prop_assert_eq!(states(now.states, by), states(then.states, 0));
    }
}
