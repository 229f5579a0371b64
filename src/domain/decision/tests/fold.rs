//! What is folded, and the vote of one location (spec: decision 5.1 and 5.2).

use super::super::{Disposition, HistoryOnly, Raw, Seen, State, VoteState};
use super::{Bench, F1, dispositions, manual, vote};
use crate::domain::ids::LocationKey;
use crate::domain::observation::Outcome;

#[test]
fn history_only_reports_give_neither_vote_nor_freshness() {
    let mut bench = Bench::new(&F1);
    bench.version = 2;
    let report = |at, received: i64, outcome| Seen {
        received: received * 1000,
        ..bench.seen(at, "a", outcome)
    };
    let cases = [
        (manual(report(100, 100, Outcome::Pass)), HistoryOnly::Manual),
        (report(100, 100, Outcome::Error), HistoryOnly::Error),
        (
            Seen { age_estimated: true, ..report(100, 100, Outcome::Pass) },
            HistoryOnly::AgeEstimated,
        ),
        (report(100, 251, Outcome::Pass), HistoryOnly::TooOld),
        (Seen { check_version: 1, ..report(100, 100, Outcome::Pass) }, HistoryOnly::OldVersion),
        (
            Seen { location: LocationKey(9), ..report(100, 100, Outcome::Pass) },
            HistoryOnly::NotConfigured,
        ),
    ];
    for (seen, reason) in cases {
        let mut bench = bench.clone();
        bench.skip_to(100).queue(seen).run(260);
        assert_eq!(dispositions(&bench), [Disposition::History(reason)]);
        assert!(bench.live.votes.is_empty(), "{reason:?}");
    }
    let oldest = Seen { received: 250_000, ..bench.seen(100, "a", Outcome::Pass) };
    bench.skip_to(100).queue(oldest).run(260);
    assert_eq!(
        dispositions(&bench),
        [Disposition::Folded],
        "as old as a vote may be is not too old"
    );
}

#[test]
fn only_what_is_later_than_the_last_fold_is_folded() {
    let mut bench = Bench::new(&F1);
    bench.pass(100, "a").run(100);
    for at in [100, 99] {
        let late = Seen { received: 110_000, ..bench.seen(at, "a", Outcome::Fail) };
        bench.queue(late);
    }
    let late = Seen { received: 110_000, ..bench.seen(101, "a", Outcome::Fail) };
    bench.queue(late).run(110);
    let late = Disposition::History(HistoryOnly::OutOfOrder);
    assert_eq!(dispositions(&bench), [Disposition::Folded, late, late, Disposition::Folded]);
}

#[test]
fn old_votes_count_until_the_first_result_of_the_new_check() {
    let mut bench = Bench::new(&F1);
    bench.policy.fail_after = 2;
    bench.fail(100, "a").fail(105, "a").run(105);
    assert_eq!(bench.live.state, State::Down);
    bench.version = 1;
    bench.run(106);
    assert_eq!(bench.last().verdict.raw, Raw::Down, "the old vote counts");
    let next = bench.seen(120, "a", Outcome::Fail);
    bench.queue(next).run(120);
    assert_eq!(vote(&bench, "a"), VoteState::Suspect, "the new check has failed once");
    let next = bench.seen(121, "a", Outcome::Pass);
    bench.queue(next).run(121);
    assert_eq!(vote(&bench, "a"), VoteState::Up, "nothing to recover from");
}

#[test]
fn a_fail_closer_than_the_separation_keeps_fresh_and_counts_nothing() {
    let mut bench = Bench::new(&F1);
    bench.policy.fail_after = 2;
    bench.fail(100, "a").fail(103, "a").run(103);
    assert_eq!(dispositions(&bench), [Disposition::Folded, Disposition::FreshnessOnly]);
    assert_eq!((vote(&bench, "a"), bench.live.votes[0].last), (VoteState::Suspect, 103_000));
    bench.fail(104, "a").run(104);
    assert_eq!(
        vote(&bench, "a"),
        VoteState::Down,
        "exactly the separation after the last counted one"
    );
}

#[test]
fn a_gap_forgets_runs_but_not_that_it_was_down() {
    let mut bench = Bench::new(&F1);
    bench.policy.fail_after = 2;
    bench.fail(100, "a").fail(250, "a").run(250);
    assert_eq!(vote(&bench, "a"), VoteState::Down, "150 s are no gap");

    let mut bench = Bench::new(&F1);
    bench.policy.fail_after = 2;
    bench.fail(100, "a").fail(251, "a").run(251);
    assert_eq!(vote(&bench, "a"), VoteState::Suspect, "151 s are");
    bench.fail(256, "a").run(256);
    assert_eq!(bench.live.votes[0].fails_since, Some(251_000));
    bench.fail(407, "a").run(407);
    assert_eq!((vote(&bench, "a"), bench.live.votes[0].fails), (VoteState::Down, 1));
    assert_eq!(bench.live.votes[0].fails_since, Some(407_000));
    bench.pass(417, "a").run(417);
    assert_eq!(vote(&bench, "a"), VoteState::Recovering);
    bench.pass(568, "a").run(568);
    assert_eq!(vote(&bench, "a"), VoteState::Recovering, "the pass before the gap is forgotten");
    bench.pass(578, "a").run(578);
    assert_eq!(vote(&bench, "a"), VoteState::Up);
}

#[test]
fn down_recovering_down_keeps_the_start_of_the_run() {
    let mut bench = Bench::new(&F1);
    bench.fail(100, "a").fail(105, "a").fail(110, "a").pass(120, "a").run(120);
    assert_eq!(vote(&bench, "a"), VoteState::Recovering);
    bench.fail(125, "a").run(125);
    assert_eq!((vote(&bench, "a"), bench.live.votes[0].fails), (VoteState::Down, 1));
    assert_eq!(bench.live.votes[0].fails_since, Some(100_000));
}

#[test]
fn slow_is_three_of_the_last_five_passes_across_fails() {
    let mut bench = Bench::new(&F1);
    bench.policy.slow = Some(1000);
    let pass =
        |bench: &Bench, at, latency_ms| Seen { latency_ms, ..bench.seen(at, "a", Outcome::Pass) };
    let beats = [(10, 1001), (20, 1000), (30, 2000)];
    for (at, latency) in beats {
        let seen = pass(&bench, at, latency);
        bench.queue(seen);
    }
    bench.fail(40, "a").run(40);
    let seen = pass(&bench, 50, 1001);
    bench.queue(seen).run(50);
    assert_eq!(vote(&bench, "a"), VoteState::Slow, "3 of 4; exactly the limit is not slow");
    let seen = pass(&bench, 60, 5);
    bench.queue(seen).run(60);
    assert_eq!(vote(&bench, "a"), VoteState::Slow, "3 of 5");
    let seen = pass(&bench, 70, 5);
    bench.queue(seen).run(70);
    assert_eq!(vote(&bench, "a"), VoteState::Up, "2 of 5");
}
