//! Waves, sentences, scope and the stored form; and that the recorded vectors are made of the simulated world.

use super::super::{FirstKind, Flag, Inputs, Live, Scope, Seen, Standing, State, wave};
use super::world::World;
use super::{Bench, F3, F5, seats};
use crate::domain::ids::LocationKey;
use crate::domain::monitor::Policy;
use crate::domain::observation::Outcome;

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
