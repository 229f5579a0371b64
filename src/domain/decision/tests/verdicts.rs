//! Who counts, and the verdict (spec: decision 5.3 and 5.4).

use super::super::{Flag, Raw, Scope, Standing, State};
use super::{Bench, F3, F5};
use crate::domain::monitor::{Policy, Quorum};
use crate::domain::observation::Outcome;

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
