//! States over time (spec: decision 5.5).

use super::super::{Raw, Seen, Standing, State};
use super::{Bench, F2, F3, F5};
use crate::domain::observation::Outcome;

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
