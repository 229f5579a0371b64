//! One test per sentence of the rules, as far as no recorded vector covers it.

use super::super::{
    Disposition, FirstKind, Flag, HistoryOnly, Inputs, Live, Raw, Scope, Seen, Standing, State,
    VoteState, What, delete, pause, resume, wave,
};
use super::world::World;
use super::{Bench, F1, F2, F3, F5, manual, seats};
use crate::domain::ids::LocationKey;
use crate::domain::incident::{Ending, Severity};
use crate::domain::monitor::{Policy, Quorum};
use crate::domain::observation::Outcome;

fn vote(bench: &Bench, name: &str) -> VoteState {
    bench.live.vote(bench.key(name)).expect("it was heard").state
}

fn dispositions(bench: &Bench) -> Vec<Disposition> {
    bench.steps.iter().flat_map(|step| step.folded.iter().copied()).collect()
}

// 5.1: what is folded

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

// 5.2: the vote

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

// 5.3 and 5.4: who counts, and the verdict

#[test]
fn set_aside_locations_count_in_the_fleet_only() {
    for standing in
        [Standing::Disabled, Standing::Quarantined, Standing::Distrusted, Standing::Divergent]
    {
        let mut bench = Bench::new(&F5);
        bench.seats[2].standing = standing;
        bench.fail(10, "abc").fail(15, "abc").pass(15, "de").run(15);
        let v = &bench.last().verdict;
        assert_eq!((v.n, v.e, v.d, v.q), (5, 4, 2, 3), "{standing:?}");
        assert_eq!(v.raw, Raw::Partial);
    }
}

#[test]
fn quorum_modes_need_what_they_say() {
    let numbers = |quorum, e| {
        let policy = Policy { quorum, ..Policy::defaults(60_000, 10_000, 5) };
        super::super::verdict::quorum(&policy, 5, e)
    };
    assert_eq!(
        [0, 1, 3, 4, 5].map(|e| numbers(Quorum::Majority, e)),
        [(2, 2), (2, 2), (2, 2), (3, 3), (3, 3)]
    );
    assert_eq!([1, 5].map(|e| numbers(Quorum::Any, e)), [(1, 1), (1, 5)]);
    assert_eq!([1, 5].map(|e| numbers(Quorum::All, e)), [(1, 1), (5, 1)]);
    assert_eq!([2, 5].map(|e| numbers(Quorum::AtLeast(4), e)), [(2, 1), (4, 2)]);
    assert_eq!([3, 5].map(|e| numbers(Quorum::Percent(50), e)), [(2, 2), (3, 3)]);
}

#[test]
fn regions_too_few_make_it_partial_and_domains_too_few_nothing() {
    // Three in one region, two domains; two elsewhere pass.
    let fleet = [
        ("a", "eu", "P1"),
        ("b", "eu", "P2"),
        ("c", "eu", "P3"),
        ("d", "us", "P1"),
        ("e", "ap", "P4"),
    ];
    let mut bench = Bench::new(&fleet);
    bench.fail(10, "abc").fail(15, "abc").pass(15, "de").run(15);
    assert_eq!((bench.last().verdict.raw, bench.last().verdict.d), (Raw::Partial, 3));
    // Three down on one domain: as good as one witness.
    let fleet = [
        ("a", "eu", "P1"),
        ("b", "us", "P1"),
        ("c", "ap", "P1"),
        ("d", "us", "P2"),
        ("e", "ap", "P4"),
    ];
    let mut bench = Bench::new(&fleet);
    bench.fail(10, "abc").fail(15, "abc").pass(15, "de").run(15);
    let v = &bench.last().verdict;
    assert_eq!((v.raw, v.flag), (Raw::Undecided, Some(Flag::DomainSuspect)));
    assert_eq!(v.scope, Some(Scope::Domain { domain: "P1".to_owned() }));
}

#[test]
fn unanimous_on_one_network_is_down_with_low_confidence() {
    let fleet = [
        ("a", "eu", "P1"),
        ("b", "us", "P1"),
        ("c", "ap", "P1"),
        ("d", "eu", "P2"),
        ("e", "us", "P3"),
    ];
    let mut bench = Bench::new(&fleet);
    for at in (10..400).step_by(5) {
        bench.fail(at, "abc");
    }
    bench.run(200);
    assert_eq!(bench.words(), [(135, "opened:down:low")], "down_low at 15, held 120 s");
    assert!(bench.live.low);
    assert_eq!(bench.live.incident.as_ref().map(|i| i.started_at), Some(10_000));
    // A fourth voice from another network is the quorum: confidence is full.
    bench.fail(210, "d").fail(215, "d").run(215);
    assert_eq!(bench.last().verdict.raw, Raw::Down);
    assert!(!bench.live.low && bench.live.state == State::Down);
}

#[test]
fn a_mix_of_down_and_down_low_is_held_as_long_as_down_low() {
    let fleet = [
        ("a", "eu", "P1"),
        ("b", "us", "P1"),
        ("c", "ap", "P1"),
        ("d", "eu", "P2"),
        ("e", "us", "P3"),
    ];
    let mut bench = Bench::new(&fleet);
    for at in (10..300).step_by(5) {
        bench.fail(at, "abc");
    }
    for at in (60..300).step_by(5) {
        bench.fail(at, "d");
    }
    bench.run(200);
    // down_low from 15, undecided from 60 to 65 while d is suspect, then down: 120 s in all.
    assert_eq!(bench.words(), [(140, "opened:down")], "the entering tick is sure");
    assert!(!bench.live.low);
}

#[test]
fn too_few_witnesses_on_enough_networks_are_low_confidence_too() {
    let mut bench = Bench::new(&F5);
    bench.every_minute(0, 60, "abcde", Outcome::Pass);
    for at in (80..500).step_by(20) {
        bench.fail(at, "ac");
    }
    bench.run(400);
    // b, d, e count until 210; from 211 on two are left, and they agree.
    assert_eq!(bench.words(), [(220, "opened:partial"), (331, "escalated:down")]);
    assert!(bench.live.low, "moved there without a quorum");
}

#[test]
fn intermittent_needs_a_fifth_of_twenty_at_a_quorum_of_locations() {
    let mut bench = Bench::new(&F3);
    // 18 passes at first, then single fails at two locations, 4 of 24 and more.
    for at in (0..180).step_by(30) {
        bench.pass(at, "abc");
    }
    bench.fail(190, "a").pass(195, "a").fail(200, "b").pass(205, "b").run(205);
    assert_eq!(bench.last().verdict.raw, Raw::Up, "2 of 22");
    bench.fail(210, "a").pass(215, "a").fail(220, "b").run(220);
    assert_eq!(bench.last().verdict.raw, Raw::Up, "4 of 25");
    bench.pass(225, "b").fail(230, "a").pass(235, "a").fail(240, "b").run(240);
    assert_eq!(bench.last().verdict.raw, Raw::DegradedIntermittent, "6 of 29, one run still open");
    assert_eq!(bench.words(), [(240, "opened:degraded")]);
    // A second fail makes the open run long enough; then it was no short one.
    bench.fail(245, "b").run(245);
    assert_ne!(bench.last().verdict.raw, Raw::DegradedIntermittent, "5 of 30");
}

#[test]
fn intermittent_looks_back_exactly_its_window() {
    let mut bench = Bench::new(&F3);
    // 8 single fails among 37 observations, until the first two are too old.
    for at in [0, 10, 20, 30] {
        bench.fail(at, "ab").pass(at + 5, "ab");
    }
    for at in (120..=840).step_by(120) {
        bench.pass(at, "abc");
    }
    bench.run(960);
    let raw = |second: usize| bench.steps[second].verdict.raw;
    assert_eq!(raw(899), Raw::DegradedIntermittent);
    assert_eq!(raw(900), Raw::DegradedIntermittent, "900 s old counts");
    assert_eq!(raw(901), Raw::Up, "901 s old does not: 6 of 35");
}

#[test]
fn short_runs_at_one_location_are_that_location() {
    let mut bench = Bench::new(&F3);
    for at in (0..600).step_by(20) {
        bench.pass(at, "bc").fail(at, "a").pass(at + 5, "a");
    }
    bench.run(600);
    assert_eq!(bench.last().verdict.raw, Raw::Up);
    assert!(bench.events.is_empty());
}

// 5.5: states over time

#[test]
fn one_of_two_that_fails_is_partial_after_the_split() {
    let mut bench = Bench::new(&F2);
    bench.every_minute(0, 1200, "c", Outcome::Pass);
    bench
        .every_minute(0, 60, "a", Outcome::Pass)
        .every_minute(90, 990, "a", Outcome::Fail)
        .run(1000);
    assert_eq!(
        bench.words(),
        [(750, "opened:partial")],
        "undecided with one down from 150 on, 600 s"
    );
    assert_eq!(bench.live.incident.as_ref().map(|i| i.started_at), Some(90_000));
    // It leaves by passes only, and the hold begins with them.
    bench.pass(1001, "a").pass(1011, "a").run(1140);
    assert_eq!(bench.words()[1..], [(1131, "resolved")]);
}

#[test]
fn a_break_in_the_split_begins_it_anew() {
    let mut bench = Bench::new(&F2);
    bench.every_minute(0, 1200, "c", Outcome::Pass);
    bench.every_minute(0, 60, "a", Outcome::Pass).every_minute(90, 570, "a", Outcome::Fail);
    bench.pass(600, "a").pass(610, "a").fail(620, "a").fail(625, "a").every_minute(
        660,
        1200,
        "a",
        Outcome::Fail,
    );
    bench.run(1230);
    assert_eq!(bench.words(), [(1225, "opened:partial")]);
}

#[test]
fn undecided_pauses_a_hold_and_keeps_its_beginning() {
    let mut bench = Bench::new(&F3);
    bench.fail(10, "abc").fail(15, "abc").run(15);
    bench.pass(30, "abc").pass(40, "abc").run(40);
    assert_eq!((bench.live.state, bench.last().verdict.raw), (State::Down, Raw::Up));
    bench.fail(60, "ab").run(60);
    assert_eq!(bench.last().verdict.raw, Raw::Undecided);
    bench.pass(90, "ab").pass(100, "c").run(189);
    assert_eq!(bench.words(), [(15, "opened:down")], "150 s after 40, 30 of them paused");
    bench.run(200);
    assert_eq!(bench.words()[1..], [(190, "resolved")]);
    assert_eq!(bench.live.past.as_ref().map(|p| p.resolved_at), Some(190_000));
}

#[test]
fn insufficient_resets_holds_and_never_closes() {
    let mut bench = Bench::new(&F3);
    bench.fail(10, "abc").fail(15, "abc").run(15);
    bench.pass(30, "abc").pass(40, "abc").run(150);
    assert_eq!(bench.live.state, State::Down);
    bench.seats[0].standing = Standing::Distrusted;
    bench.seats[1].standing = Standing::Distrusted;
    bench.run(155);
    assert_eq!(bench.last().verdict.raw, Raw::Insufficient);
    assert!(bench.live.evidence_stale);
    bench.seats[0].standing = Standing::Counted;
    bench.seats[1].standing = Standing::Counted;
    bench.run(156);
    assert!(!bench.live.evidence_stale);
    bench.pass(160, "abc").pass(220, "abc").run(275);
    assert_eq!(bench.words(), [(15, "opened:down")]);
    bench.run(276);
    assert_eq!(bench.words()[1..], [(276, "resolved")], "120 s after the evidence came back");
}

#[test]
fn stale_evidence_is_told_when_it_begins_and_ends() {
    let mut bench = Bench::new(&F3);
    bench.fail(10, "abc").fail(15, "abc").fail(400, "abc").run(400);
    let told: Vec<_> = bench
        .steps
        .iter()
        .filter_map(|step| step.stale_change)
        .map(|c| (c.at / 1000, c.stale))
        .collect();
    assert_eq!(told, [(166, true), (400, false)]);
    assert_eq!(bench.words(), [(15, "opened:down")]);
}

#[test]
fn blind_ends_with_the_first_sure_verdict() {
    let mut bench = Bench::new(&F3);
    bench.every_minute(0, 60, "abc", Outcome::Pass).run(499);
    assert_eq!(bench.words(), [(271, "blind")], "too few from 211 on");
    let unknown =
        bench.steps.iter().find_map(|s| s.state_change.filter(|c| c.to == State::Unknown));
    assert_eq!(unknown.map(|c| c.since), Some(211_000), "unknown since the evidence went");
    bench.pass(500, "ab").run(500);
    assert_eq!(bench.words()[1..], [(500, "blind_end")]);
}

#[test]
fn a_new_monitor_that_hears_nothing_is_blind() {
    let mut bench = Bench::new(&F3);
    bench.run(70);
    assert_eq!(bench.words(), [(60, "blind")]);
    assert_eq!(bench.live.before, State::Pending);
}

#[test]
fn unknown_with_an_open_incident_leaves_by_its_hold() {
    let mut bench = Bench::new(&F3);
    bench.policy.slow = Some(50);
    for at in [0, 60, 120] {
        for name in ["a", "b", "c"] {
            let seen = Seen { latency_ms: 100, ..bench.seen(at, name, Outcome::Pass) };
            bench.queue(seen);
        }
    }
    bench.run(399);
    assert_eq!(bench.words(), [(120, "opened:degraded"), (331, "blind")]);
    assert_eq!(bench.live.state, State::Unknown);
    bench.policy.slow = None;
    for at in (400..600).step_by(20) {
        bench.pass(at, "abc");
    }
    bench.run(600);
    assert_eq!(bench.words()[2..], [(520, "resolved")]);
}

#[test]
fn unknown_goes_back_to_degraded_without_a_move() {
    let mut bench = Bench::new(&F3);
    bench.policy.slow = Some(50);
    for at in [0, 60, 120, 400] {
        for name in ["a", "b", "c"] {
            let seen = Seen { latency_ms: 100, ..bench.seen(at, name, Outcome::Pass) };
            bench.queue(seen);
        }
    }
    bench.run(400);
    assert_eq!(bench.words(), [(120, "opened:degraded"), (331, "blind"), (400, "blind_end")]);
}

#[test]
fn the_mildest_state_whose_timer_has_held_is_taken() {
    let mut bench = Bench::new(&F5);
    bench.fail(10, "abcde").fail(15, "abcde").run(15);
    // c, d, e come back at once, a and b stay down a minute longer.
    for at in (20..400).step_by(5) {
        bench.pass(at, "cde");
        if at < 80 {
            bench.fail(at, "ab")
        } else {
            bench.pass(at, "ab")
        };
    }
    bench.run(400);
    // At most partial from 20 on, held until 140; up from 80 on, held until 200.
    assert_eq!(
        bench.words(),
        [(15, "opened:down"), (140, "downgraded:partial"), (200, "resolved")]
    );
}

#[test]
fn confirm_for_holds_an_alert_back_and_the_start_stays() {
    let mut bench = Bench::new(&F3);
    bench.policy.confirm_for = 60_000;
    for at in (10..200).step_by(5) {
        bench.fail(at, "abc");
    }
    bench.run(100);
    assert_eq!(bench.words(), [(75, "opened:down")]);
    assert_eq!(bench.live.incident.as_ref().map(|i| i.started_at), Some(10_000));
}

#[test]
fn a_partial_verdict_does_not_open_a_degraded_incident() {
    let mut bench = Bench::new(&F5);
    for at in (10..120).step_by(5) {
        bench.fail(at, "ab").pass(at, "cde");
    }
    bench.run(120);
    assert_eq!((bench.last().verdict.raw, bench.live.state), (Raw::Partial, State::Up));
    assert!(bench.events.is_empty());
}

#[test]
fn grace_after_a_restart_keeps_votes_that_had_not_lapsed() {
    let mut bench = Bench::new(&F3);
    bench.pass(0, "abc").run(100);
    bench.pass(60, "ab").run(100);
    // Nobody decides for ten minutes; the sweep that comes back grants grace.
    bench.grace_until = Some(900_000);
    bench.skip_to(700).run(700);
    assert_eq!((bench.last().verdict.e, bench.live.state), (3, State::Up));
    bench.run(900);
    assert_eq!(bench.last().verdict.e, 3);
    bench.run(901);
    assert_eq!((bench.last().verdict.e, bench.live.state), (0, State::Up));
    assert_eq!(bench.live.timers.blind_since, Some(901_000));
}

#[test]
fn grace_does_not_revive_a_vote_that_was_seen_to_lapse() {
    let mut bench = Bench::new(&F3);
    bench.pass(0, "c").pass(60, "ab").pass(120, "ab").run(200);
    assert_eq!(bench.last().verdict.e, 2);
    bench.grace_until = Some(900_000);
    bench.skip_to(700).run(700);
    assert_eq!(bench.last().verdict.e, 2, "c had been silent before the restart");
}

#[test]
fn time_never_goes_back() {
    let mut bench = Bench::new(&F3);
    bench.pass(100, "abc").run(100);
    bench.skip_to(50).run(50);
    assert_eq!(bench.last().at, 100_000);
    assert_eq!(bench.live.folded_at, 100_000);
}

// 5.7 and 5.8: withdrawal, incidents, flapping, maintenance, pausing

#[test]
fn an_incident_that_loses_its_quorum_by_withdrawal_is_marked_once() {
    let mut bench = Bench::new(&F5);
    bench.fail(10, "abc").fail(15, "abc").pass(15, "de").run(20);
    assert_eq!(bench.words(), [(15, "opened:down")]);
    bench.seats[0].standing = Standing::Quarantined;
    bench.run(30);
    let marks = bench
        .steps
        .iter()
        .flat_map(|s| &s.events)
        .filter(|e| e.what == What::EvidenceWithdrawn)
        .count();
    assert_eq!(marks, 1);
    assert_eq!(bench.words().len(), 1, "no word of a trace");
    assert!(bench.live.incident.as_ref().is_some_and(|i| i.withdrawn));
    assert_eq!(bench.live.state, State::Down, "it ends by the normal rule");
}

#[test]
fn a_location_alone_in_down_for_a_day_is_reported_and_comes_back() {
    let mut bench = Bench::new(&F3);
    for at in (0..90_000).step_by(60) {
        bench.fail(at, "a").pass(at, "bc");
    }
    for second in (0..90_000).step_by(60) {
        bench.skip_to(second).run(second);
    }
    let first = bench.steps.iter().find(|step| step.divergent.is_some()).expect("reported");
    assert_eq!((first.at, first.divergent), (60_000 + 86_400_000, Some(bench.key("a"))));
    bench.seats[0].standing = Standing::Divergent;
    bench.pass(90_010, "a").skip_to(90_010).run(90_010);
    assert!(bench.last().converged.is_empty());
    bench.pass(90_020, "a").run(90_020);
    assert_eq!(bench.last().converged, [bench.key("a")]);
}

#[test]
fn it_reopens_within_the_limit_at_any_severity_and_keeps_its_beginning() {
    let mut bench = Bench::new(&F5);
    bench.fail(10, "abcde").fail(15, "abcde").pass(20, "abcde").pass(30, "abcde").run(30);
    bench.every_minute(40, 700, "abcde", Outcome::Pass).run(160);
    assert_eq!(bench.words()[1..], [(150, "resolved")]);
    // a and b fail from 630: partial at 635, opened 120 s later, 605 s after the resolve.
    let mut early = bench.clone();
    for at in (620..900).step_by(5) {
        early.fail(at, "ab").pass(at, "cde");
    }
    early.waiting_without_passes_of("ab", 620).run(800);
    assert_eq!(early.words()[2..], [(745, "reopened:partial")]);
    let open = early.live.incident.as_ref().expect("open");
    assert_eq!(
        (open.severity, open.started_at, open.opened_at),
        (Severity::Partial, 10_000, 15_000)
    );
    let mut late = bench.clone();
    for at in (630..900).step_by(5) {
        late.fail(at, "ab").pass(at, "cde");
    }
    late.waiting_without_passes_of("ab", 630).run(800);
    assert_eq!(late.words()[2..], [(755, "opened:partial")]);
}

/// Full outages of 60 s, well for `well` seconds between them.
fn flaps(bench: &mut Bench, from: i64, until: i64, well: i64) {
    for at in (from..until).step_by(5) {
        let phase = (at - from) % (60 + well);
        if phase < 60 {
            bench.fail(at, "abc")
        } else {
            bench.pass(at, "abc")
        };
    }
}

#[test]
fn flapping_holds_the_fourth_change_and_ends_with_the_next_due_resolve() {
    let mut bench = Bench::new(&F3);
    flaps(&mut bench, 0, 400, 140);
    for at in (400..1500).step_by(5) {
        bench.pass(at, "abc");
    }
    bench.run(1500);
    assert_eq!(
        bench.words(),
        [
            (5, "opened:down"),
            (185, "resolved"),
            (205, "reopened:down"),
            (385, "flap_start"),
            (865, "resolved:flap_end")
        ]
    );
    let ended = bench.steps.iter().flat_map(|s| &s.events).rev().find_map(|e| match e.what {
        What::Resolved { ended_at, ending } => Some((ended_at, ending)),
        _ => None,
    });
    // The timer was restarted at 385, so what is dated back lies within 150 s before it.
    assert_eq!(ended, Some((260_000, Ending::FlapEnd)));
    assert!(bench.live.flaps.changes.is_empty() && !bench.live.flaps.flapping);
}

#[test]
fn a_flapping_monitor_waits_longer_for_every_milder_step() {
    let mut bench = Bench::new(&F5);
    bench.live.flaps.flapping = true;
    bench.fail(10, "abcde").fail(15, "abcde").run(15);
    for at in (20..1200).step_by(5) {
        bench.pass(at, "cde").fail(at, "ab");
    }
    bench.run(1000);
    assert_eq!(bench.words(), [(15, "opened:down"), (500, "downgraded:partial")]);
}

#[test]
fn the_longer_hold_of_flapping_is_half_an_hour_at_most_and_never_shorter_than_usual() {
    let hold = |recover_for| {
        let policy = Policy { recover_for, ..Policy::defaults(60_000, 10_000, 3) };
        super::super::state::Standpoint {
            state: State::Down,
            open: true,
            flapping: true,
            policy: &policy,
        }
        .hold_milder()
    };
    assert_eq!(hold(120_000), 480_000);
    assert_eq!(hold(600_000), 1_800_000);
    assert_eq!(hold(3_600_000), 3_600_000);
}

#[test]
fn an_incident_announced_before_maintenance_is_heard_through_it() {
    let mut bench = Bench::new(&F3).window(100, 400);
    for at in (10..200).step_by(5) {
        bench.fail(at, "abc");
    }
    for at in (200..600).step_by(5) {
        bench.pass(at, "abc");
    }
    bench.run(600);
    assert_eq!(bench.words(), [(15, "opened:down"), (325, "resolved")]);
}

#[test]
fn a_reopening_inside_maintenance_is_suppressed_and_announced_after_it() {
    let mut bench = Bench::new(&F3).window(200, 400);
    for at in (10..30).step_by(5) {
        bench.fail(at, "abc");
    }
    for at in (30..300).step_by(5) {
        bench.pass(at, "abc");
    }
    for at in (300..700).step_by(5) {
        bench.fail(at, "abc");
    }
    bench.run(700);
    assert_eq!(
        bench.words(),
        [
            (15, "opened:down"),
            (155, "resolved"),
            (305, "suppressed:reopened:down"),
            (520, "opened:down:after_maintenance"),
        ]
    );
    let open = bench.live.incident.as_ref().expect("open");
    assert_eq!((open.started_at, open.opened_at, open.announced), (400_000, 520_000, true));
}

#[test]
fn a_suppressed_incident_reopens_aloud_after_maintenance() {
    let mut bench = Bench::new(&F3).window(100, 300);
    for at in (110..130).step_by(5) {
        bench.fail(at, "abc");
    }
    for at in (130..500).step_by(5) {
        bench.pass(at, "abc");
    }
    for at in (500..600).step_by(5) {
        bench.fail(at, "abc");
    }
    bench.run(600);
    assert_eq!(
        bench.words(),
        [
            (60, "blind"),
            (115, "suppressed:opened:down"),
            (255, "suppressed:resolved"),
            (505, "reopened:down")
        ]
    );
}

#[test]
fn everything_inside_maintenance_is_suppressed_blindness_too() {
    let mut bench = Bench::new(&F3).window(100, 400);
    bench.pass(0, "abc").pass(60, "abc").run(299);
    bench.pass(300, "abc").run(300);
    assert_eq!(bench.words(), [(271, "suppressed:blind"), (300, "suppressed:blind_end")]);
}

#[test]
fn severity_moves_of_a_suppressed_incident_are_suppressed() {
    let mut bench = Bench::new(&F5).window(5, 400);
    for at in (10..300).step_by(5) {
        bench.fail(at, "ab");
        if at < 150 {
            bench.pass(at, "cde")
        } else {
            bench.fail(at, "cde")
        };
    }
    bench.run(200);
    assert_eq!(
        bench.words(),
        [(135, "suppressed:opened:partial"), (155, "suppressed:escalated:down")]
    );
}

#[test]
fn a_window_cut_short_is_announced_from_its_new_end() {
    let mut bench = Bench::new(&F3).window(5, 4000);
    for at in (10..700).step_by(5) {
        bench.fail(at, "abc");
    }
    bench.run(300);
    bench.windows[0].end = 310_000;
    bench.run(500);
    assert_eq!(
        bench.words(),
        [(15, "suppressed:opened:down"), (430, "opened:down:after_maintenance")]
    );
    assert_eq!(bench.live.incident.as_ref().map(|i| i.started_at), Some(310_000));
}

#[test]
fn pausing_resolves_and_resuming_begins_anew() {
    let mut bench = Bench::new(&F3);
    bench.fail(10, "abc").fail(15, "abc").run(20);
    let halt = pause(&mut bench.live, 30_000);
    let resolved = What::Resolved { ended_at: 30_000, ending: Ending::Paused };
    assert_eq!(
        halt.events.iter().map(|e| (e.at, e.suppressed, e.what)).collect::<Vec<_>>(),
        [(30_000, false, resolved)]
    );
    assert_eq!(halt.state_change.map(|c| (c.from, c.to)), Some((State::Down, State::Paused)));
    bench.fail(40, "abc").run(50);
    assert_eq!(dispositions(&bench)[6..], [Disposition::History(HistoryOnly::Paused); 3]);
    assert_eq!((bench.live.state, bench.last().wake_at), (State::Paused, None));
    assert!(pause(&mut bench.live, 50_000).events.is_empty());
    let back = resume(&mut bench.live, 60_000);
    assert_eq!(back.state_change.map(|c| (c.from, c.to)), Some((State::Paused, State::Pending)));
    assert!(bench.live.votes.is_empty());
    bench.fail(70, "abc").run(70);
    assert_eq!(vote(&bench, "a"), VoteState::Suspect);
    let mut fresh = Live::default();
    assert_eq!(delete(&mut fresh, 5).events, []);
}

#[test]
fn intervals_begin_where_the_evidence_begins_and_never_overlap() {
    let mut bench = Bench::new(&F5);
    bench.every_minute(0, 120, "abcde", Outcome::Pass);
    bench.fail(130, "abcde").fail(135, "abcde").pass(200, "abcde").pass(210, "abcde");
    bench.every_minute(220, 900, "abcde", Outcome::Pass).run(900);
    let changes: Vec<_> = bench
        .steps
        .iter()
        .filter_map(|s| s.state_change)
        .map(|c| (c.to, c.at / 1000, c.since / 1000))
        .collect();
    assert_eq!(changes, [(State::Up, 0, 0), (State::Down, 135, 130), (State::Up, 330, 200)]);
}

// 5.6: waves

#[test]
fn a_wave_asks_other_networks_first_and_waits_for_its_gap() {
    let mut bench = Bench::new(&F5);
    bench.pass(0, "abcde").fail(10, "a").run(10);
    let step = bench.last().clone();
    assert_eq!(
        step.firsts.iter().map(|f| (f.location, f.kind)).collect::<Vec<_>>(),
        [(bench.key("a"), FirstKind::Fail)]
    );
    let mut live = bench.live.clone();
    let plan = |live: &mut Live, now, held: &[LocationKey]| {
        wave::plan(live, &bench.inputs(now), &step.verdict, &step.firsts, held, |_| true)
    };
    assert_eq!(plan(&mut live, 10_000, &[bench.key("a")]), None, "a is being looked at itself");
    let wave = plan(&mut live, 10_000, &[]).expect("a wave");
    // c and e: other domain, other region; b: other domain; d: other region.
    assert_eq!(wave.ask, ["c", "e", "b", "d"].map(|name| bench.key(name)));
    assert_eq!(plan(&mut live, 39_999, &[]), None);
    assert!(plan(&mut live, 40_000, &[]).is_some());
}

#[test]
fn no_wave_while_down_but_one_for_the_first_pass() {
    let mut bench = Bench::new(&F3);
    bench.fail(10, "abc").fail(15, "abc").run(15);
    bench.pass(20, "a").run(20);
    assert_eq!(bench.last().firsts.iter().map(|f| f.kind).collect::<Vec<_>>(), [FirstKind::Pass]);
    bench.fail(25, "a").run(25);
    assert!(bench.last().firsts.is_empty(), "a first fail, but it is down already");
}

// Words, scope and size

#[test]
fn the_sentence_names_what_only_the_failing_share_and_who_is_not_counted() {
    let fleet = [
        ("fra", "eu", "N1"),
        ("lon", "eu", "N2"),
        ("iad", "us", "N3"),
        ("sjc", "us", "N4"),
        ("syd", "ap", "N5"),
        ("gru", "sa", "N6"),
    ];
    let mut bench = Bench::new(&fleet);
    bench.seats[5].standing = Standing::Quarantined;
    for at in [100, 105] {
        for name in ["fra", "lon", "iad", "syd", "gru"] {
            let seen = Seen {
                address: Some("203.0.113.10".to_owned()),
                ..bench.seen(at, name, Outcome::Fail)
            };
            bench.queue(seen);
        }
        let seen = Seen {
            address: Some("203.0.113.74".to_owned()),
            ..bench.seen(at, "sjc", Outcome::Pass)
        };
        bench.queue(seen);
    }
    bench.run(105);
    assert_eq!(
        bench.last().why,
        "4 of 5 locations see it fail, 3 are needed. All four reached 203.0.113.10; sjc, which passes, reached \
         203.0.113.74. gru is not counted: quarantined, since it fails its own checks."
    );
    let value = "203.0.113.10".to_owned();
    assert_eq!(
        bench.last().verdict.scope,
        Some(Scope::Edge { attribute: super::super::scope::Attribute::Address, value })
    );
}

#[test]
fn staying_is_explained_too() {
    let mut bench = Bench::new(&F5);
    bench.pass(0, "abcde").fail(10, "a").run(10);
    assert_eq!(bench.last().why, "Stays up: one location failed once; 3 are needed.");
    bench.fail(15, "a").run(15);
    assert_eq!(bench.last().why, "Stays up: 1 is down, 3 are needed.");
    assert_eq!(bench.last().verdict.flag, Some(Flag::Local(bench.key("a"))));
    bench.pass(16, "b").run(16);
    assert_eq!(bench.last().why, "", "nothing changed, nothing to explain");
    bench.fail(20, "d").fail(25, "d").run(25);
    assert_eq!(bench.last().why, "Stays up: 2 see it fail, but on P1 only; 2 are needed.");
    bench.run(300);
    let blind = bench
        .steps
        .iter()
        .find(|s| s.state_change.is_some_and(|c| c.to == State::Unknown))
        .expect("blind");
    assert_eq!(
        blind.why,
        "None of 5 locations counts, 3 are needed. It was up until 1970-01-01 00:02:46 UTC. a, b, c, d and e are not \
         counted: silent for too long."
    );
}

#[test]
fn scope_says_how_far_it_reaches() {
    let scope = |down: &str, up: &str| {
        let mut bench = Bench::new(&F5);
        bench.fail(10, down).fail(15, down).pass(15, up).run(15);
        bench.last().verdict.scope.clone()
    };
    assert_eq!(scope("abcde", ""), Some(Scope::Global));
    assert_eq!(scope("ab", "cde"), Some(Scope::Regions { regions: vec!["eu".to_owned()] }));
    assert_eq!(
        scope("abcd", "e"),
        Some(Scope::Regions { regions: vec!["eu".to_owned(), "us".to_owned()] })
    );
    assert_eq!(scope("ad", "bce"), Some(Scope::Domain { domain: "P1".to_owned() }));
    assert_eq!(scope("ac", "bde"), Some(Scope::Split));
    assert_eq!(scope("", "abcde"), None);
}

#[test]
fn a_steady_monitor_is_stored_in_seven_hundred_bytes() {
    let mut bench = Bench::new(&F5);
    let day = 1_764_400_000;
    let mut live = Live::default();
    for at in (day..day + 7200).step_by(12) {
        let index = (at / 12 % 5) as usize;
        let seat = &bench.seats[index];
        let seen = Seen {
            check_version: 17,
            latency_ms: 118,
            status: Some(200),
            address: Some("203.0.113.174".to_owned()),
            ..Seen::new(LocationKey(seat.key.0 + 200), at * 1000 + 347, Outcome::Pass)
        };
        let mut seats = bench.seats.clone();
        seats.iter_mut().for_each(|seat| seat.key.0 += 200);
        let now = at * 1000 + 402;
        let inputs = Inputs { check_version: 17, seats: &seats, ..bench.inputs(now) };
        super::super::step(&mut live, &inputs, &[seen]);
        if at == day {
            // Numbers as they are after a year.
            live.votes[0].passes = 525_600;
        }
    }
    bench.live = live.clone();
    let stored = serde_json::to_vec(&live).expect("plain data");
    assert!(stored.len() <= 700, "{} bytes: {}", stored.len(), String::from_utf8_lossy(&stored));
    let again: Live = serde_json::from_slice(&stored).expect("our own text");
    assert_eq!(again, live);
}

#[test]
fn what_is_stored_wrongly_is_refused_not_believed() {
    for text in [
        "{}",
        "{\"t\":1}",
        "{\"t\":1,\"v\":[],\"m\":[[9,0,0,0]]}",
        "{\"t\":1,\"v\":[[1,77,0,0,0,null,0,0,null,0,0,\"\",0,0,0,0]]}",
    ] {
        assert!(serde_json::from_str::<Live>(text).is_err(), "{text}");
    }
    assert!(
        serde_json::from_str::<Live>(
            "{\"t\":1,\"v\":[[1,1,0,0,0,null,0,0,null,0,0,\"\",0,0,0,0]]}"
        )
        .is_ok()
    );
}

/// The recorded vectors were made of this world, so it makes them again.
#[test]
fn the_simulated_world_makes_the_recorded_observations() {
    let text = include_str!("../../../../tests/vectors/decision-vectors.json");
    let file: serde_json::Value = serde_json::from_str(text).expect("the recorded vectors");
    let seats = seats(&F5);
    let policy = Policy::defaults(60_000, 10_000, 5);
    type Truth = fn(&str, i64) -> Option<bool>;
    let truths: [(u64, Truth); 8] = [
        (1, |_, _| Some(false)),
        (2, |name, at| Some(name == "a" && at == 120)),
        (3, |name, at| Some(name == "a" && at >= 120)),
        (4, |_, at| Some(at >= 130)),
        (5, |name, at| Some("ace".contains(name) && at >= 130)),
        (6, |name, at| Some("ab".contains(name) && at >= 130)),
        (16, |_, at| Some((130..400).contains(&at))),
        (11, |_, at| (at <= 60).then_some(false)),
    ];
    for (id, truth) in truths {
        let vectors = file["vectors"].as_array().expect("a list");
        let vector = vectors.iter().find(|vector| vector["id"] == id).expect("the vector");
        let mut world = World::new(&policy, &seats);
        let until = vector["until"].as_i64().expect("seconds");
        world.run(until * 1000, |location, at| truth(&seats[location.0 as usize].name, at / 1000));
        let mut made: Vec<String> = world
            .seen
            .iter()
            .filter(|seen| seen.received <= until * 1000)
            .map(|seen| {
                let name = &seats[seen.location.0 as usize].name;
                format!("{} {name} {:?} {:?}", seen.at / 1000, seen.outcome, seen.kind)
                    .to_lowercase()
            })
            .collect();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let mut recorded: Vec<String> = vector["obs"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|o| format!("{} {} {} {}", o[0], text(&o[1]), text(&o[2]), text(&o[4])))
            .collect();
        made.sort();
        recorded.sort();
        let only = |these: &[String], those: &[String]| -> Vec<String> {
            these.iter().filter(|one| !those.contains(one)).cloned().collect()
        };
        assert_eq!(only(&made, &recorded), only(&recorded, &made), "vector {id}");
        assert_eq!(made.len(), recorded.len(), "vector {id}");
    }
}
