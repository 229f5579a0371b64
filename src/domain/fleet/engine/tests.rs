//! The faults of a small fleet, on windows of five seconds that are made up: for each the right finding,
//! the right names, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::domain::fleet::cell::Cell;
use crate::domain::fleet::finding::{Gravity, Kind, Scope};

const ROUTES: [&str; 3] = ["GET /", "GET /items/*", "POST /cart"];

/// How one instance answers in one window.
#[derive(Debug, Clone, Copy)]
struct Way {
    attempts: u32,
    /// Share of attempts that fail, and how.
    fails: f64,
    connect: bool,
    /// Share that is answered with this code.
    code: (u16, f64),
    micros: f64,
    body: u32,
    /// Shares of the first two route classes.
    mix: (f64, f64),
    /// What the last route class fails in addition.
    last_fails: f64,
    probes: u64,
}

const WELL: Way = Way {
    attempts: 80,
    fails: 0.004,
    connect: false,
    code: (404, 0.01),
    micros: 30_000.0,
    body: 4_000,
    mix: (0.4, 0.4),
    last_fails: 0.0,
    probes: 1,
};

struct Lab {
    engine: Engine,
    rng: u64,
    at: i64,
}

impl Lab {
    fn new() -> Self {
        let settings = Settings { window_s: 5, warm_up_s: 30, ..Settings::default() };
        Self { engine: Engine::new("app", &settings), rng: 7, at: 1_000 }
    }

    /// With a past of 40 windows in which all are well.
    fn settled(instances: usize) -> Self {
        let mut lab = Self::new();
        lab.run(40, &vec![WELL; instances]);
        assert!(lab.engine.open().is_empty(), "{:?}", lab.told());
        lab
    }

    /// Splitmix64, as a number from 0 to 1.
    fn chance(&mut self) -> f64 {
        self.rng = self.rng.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.rng;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64
    }

    fn window(&mut self, ways: &[Way]) -> Window {
        let mut window = Window::new(self.at);
        self.at += 1;
        for (i, way) in ways.iter().enumerate() {
            let mut cells: BTreeMap<String, Cell> = BTreeMap::new();
            for _ in 0..way.attempts {
                let which = self.chance();
                let route = match which {
                    _ if which < way.mix.0 => 0,
                    _ if which < way.mix.0 + way.mix.1 => 1,
                    _ => 2,
                };
                let cell = cells.entry(ROUTES[route].to_owned()).or_default();
                cell.attempts += 1;
                let fails = way.fails + if route == 2 { way.last_fails } else { 0.0 };
                let slow = 0.5 + self.chance() + self.chance();
                if self.chance() < fails && way.connect {
                    cell.faults.connect += 1;
                    cell.latency.add(0);
                    continue;
                }
                cell.latency.add((way.micros * slow) as u32);
                let code = if self.chance() < fails && !way.connect {
                    cell.faults.status += 1;
                    500
                } else if self.chance() < way.code.1 {
                    way.code.0
                } else {
                    if route < 2 {
                        cell.sizes.add(way.body + (self.chance() * 500.0) as u32);
                    }
                    200
                };
                *cell.codes.entry(code).or_default() += 1;
            }
            if let Some(cell) = cells.values_mut().next() {
                cell.probes_passed = way.probes;
            }
            window.cells.insert(name(i), cells);
        }
        window
    }

    fn step(&mut self, ways: &[Way]) -> Vec<Change> {
        let window = self.window(ways);
        self.engine.judge(window, &Context::default())
    }

    fn run(&mut self, windows: usize, ways: &[Way]) -> Vec<Change> {
        (0..windows).flat_map(|_| self.step(ways)).collect()
    }

    fn told(&self) -> Vec<&str> {
        self.engine.open().iter().map(|finding| finding.sentence.as_str()).collect()
    }

    /// Everything that is open, but for contradictions: kind, scope, who.
    fn open(&self) -> Vec<(Kind, Scope, Vec<&str>)> {
        let open = self.engine.open().iter().filter(|finding| finding.kind != Kind::Contradiction);
        open.map(|finding| {
            let who = finding.instances.iter().map(String::as_str).collect();
            (finding.kind, finding.scope, who)
        })
        .collect()
    }
}

fn name(i: usize) -> String {
    format!("10.9.0.{}:8080", 11 + i)
}

fn first(way: Way, of: usize) -> Vec<Way> {
    let mut ways = vec![WELL; of];
    ways[0] = way;
    ways
}

const BAD: &str = "10.9.0.11:8080";

#[test]
fn one_that_fails_everything_is_named_at_once() {
    let mut lab = Lab::settled(5);
    let changes = lab.step(&first(Way { fails: 1.0, ..WELL }, 5));
    assert_eq!(lab.open(), [(Kind::Errors, Scope::One, vec![BAD])]);
    assert_eq!(changes[0].step, Step::Opened);
    assert_eq!(changes[0].key, "errors");
    let finding = &lab.engine.open()[0];
    assert_eq!(finding.severity, Gravity::Critical);
    assert_eq!(finding.from_us, (lab.at - 1) * 5_000_000);
    assert_eq!(finding.found_us, lab.at * 5_000_000 + 10_000_000, "its end and the lateness");
    assert!(
        finding.sentence.starts_with(
            "10.9.0.11:8080 failed 80 of 80 requests (100\u{a0}%: 80 5xx); its "
        ) && finding.sentence.ends_with(
            " of the same routes. Chance of that: below 1 in a million; 1 of 3 windows of 5\u{a0}s."
        ),
        "{}",
        finding.sentence
    );
    assert_eq!(finding.evidence["attempts"], 80);
    assert_eq!(finding.evidence["faults"]["status_5xx"], 80);
}

#[test]
fn a_third_of_errors_opens_after_two_windows_and_closes_after_three() {
    let mut lab = Lab::settled(5);
    let ill = first(Way { fails: 0.35, ..WELL }, 5);
    lab.step(&ill);
    assert_eq!(lab.open(), []);
    lab.step(&ill);
    assert_eq!(lab.open(), [(Kind::Errors, Scope::One, vec![BAD])]);
    let from_us = lab.engine.open()[0].from_us;
    assert_eq!(from_us, (lab.at - 2) * 5_000_000);
    let found_us = lab.engine.open()[0].found_us;
    assert_eq!(found_us, lab.at * 5_000_000 + 10_000_000);
    let changes = lab.run(5, &ill);
    assert!(changes.iter().all(|change| change.step == Step::Refreshed), "{changes:?}");
    let end_us = lab.at * 5_000_000;
    assert_eq!(lab.run(2, &[WELL; 5]), []);
    let changes = lab.step(&[WELL; 5]);
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].step, Step::Closed(End::Over));
    assert_eq!((changes[0].finding.from_us, changes[0].finding.to_us), (from_us, Some(end_us)));
    assert_eq!(changes[0].finding.found_us, found_us, "it stays when it was found");
    assert_eq!(lab.open(), []);
}

#[test]
fn refused_connections_are_errors_and_no_black_hole() {
    let mut lab = Lab::settled(5);
    // A balancer that prefers the least busy sends it more.
    let ill = Way { fails: 1.0, connect: true, attempts: 160, ..WELL };
    lab.run(3, &first(ill, 5));
    assert_eq!(lab.open(), [(Kind::Errors, Scope::One, vec![BAD])]);
    assert!(lab.told()[0].contains("160 no connection"), "{:?}", lab.told());
}

#[test]
fn blank_pages_are_blank_and_a_black_hole_when_they_draw_traffic() {
    let mut lab = Lab::settled(5);
    let blank = Way { body: 0, micros: 3_000.0, ..WELL };
    lab.run(3, &first(blank, 5));
    assert_eq!(lab.open(), [(Kind::Blank, Scope::One, vec![BAD])], "{:?}", lab.told());
    let changes = lab.step(&first(Way { attempts: 140, ..blank }, 5));
    assert_eq!(lab.open(), [(Kind::BlackHole, Scope::One, vec![BAD])], "{:?}", lab.told());
    assert!(changes.iter().any(|change| change.step == Step::Closed(End::Absorbed)));
    // It stays one while it is bad, whatever the balancer does.
    lab.run(4, &first(blank, 5));
    assert_eq!(lab.open(), [(Kind::BlackHole, Scope::One, vec![BAD])], "{:?}", lab.told());
    lab.run(4, &[WELL; 5]);
    assert_eq!(lab.open(), []);
}

#[test]
fn quick_errors_that_draw_traffic_are_a_black_hole_at_once() {
    let mut lab = Lab::settled(8);
    let ill = Way { fails: 0.5, micros: 3_000.0, attempts: 150, ..WELL };
    lab.step(&first(ill, 8));
    assert_eq!(lab.open(), [(Kind::BlackHole, Scope::One, vec![BAD])], "{:?}", lab.told());
    assert_eq!(lab.engine.open()[0].evidence["part"], "errors");
}

#[test]
fn three_times_as_slow_is_latency() {
    let mut lab = Lab::settled(5);
    lab.run(2, &first(Way { micros: 90_000.0, ..WELL }, 5));
    assert_eq!(lab.open(), [(Kind::Latency, Scope::One, vec![BAD])], "{:?}", lab.told());
    let times = lab.engine.open()[0].evidence["p90_ms"]
        .as_f64()
        .zip(lab.engine.open()[0].evidence["peers_p90_ms"].as_f64());
    let (own, peers) = times.unwrap_or_default();
    assert!((2.5..3.5).contains(&(own / peers)), "{own} {peers}");
}

#[test]
fn slow_errors_are_told_as_errors_only() {
    let mut lab = Lab::settled(5);
    lab.run(6, &first(Way { micros: 90_000.0, fails: 0.4, ..WELL }, 5));
    assert_eq!(lab.open(), [(Kind::Errors, Scope::One, vec![BAD])], "{:?}", lab.told());
    assert_eq!(lab.engine.open()[0].evidence["also"][0]["what"], "latency");
}

#[test]
fn a_wrong_code_is_named_as_such() {
    let mut lab = Lab::settled(5);
    lab.run(2, &first(Way { code: (400, 0.4), ..WELL }, 5));
    assert_eq!(lab.open(), [(Kind::CodeMix, Scope::One, vec![BAD])], "{:?}", lab.told());
    let finding = &lab.engine.open()[0];
    assert_eq!(key(finding), "code_mix:400");
    assert_eq!(
        (&finding.evidence["code"], &finding.evidence["wrong_code"]),
        (&400.into(), &true.into())
    );
}

#[test]
fn who_comes_back_cold_is_not_compared() {
    let mut lab = Lab::settled(5);
    let away = first(Way { attempts: 0, probes: 0, ..WELL }, 5);
    lab.run(6, &away);
    let cold = Way { micros: 150_000.0, fails: 0.1, attempts: 60, ..WELL };
    lab.run(5, &first(cold, 5));
    assert_eq!(lab.open(), [], "{:?}", lab.told());
    lab.run(30, &[WELL; 5]);
    assert_eq!(lab.open(), [], "{:?}", lab.told());
    // But one that answers nothing right is no cold start.
    lab.run(6, &away);
    lab.step(&first(Way { fails: 1.0, ..WELL }, 5));
    assert_eq!(lab.open(), [(Kind::Errors, Scope::One, vec![BAD])]);
    assert_eq!(lab.engine.open()[0].evidence["warming"], true);
}

#[test]
fn what_all_do_alike_is_shared_and_blames_nobody() {
    for way in [
        Way { fails: 0.95, ..WELL },
        Way { fails: 0.3, ..WELL },
        // Overload: slow and failing.
        Way { fails: 0.2, micros: 150_000.0, ..WELL },
    ] {
        let mut lab = Lab::settled(5);
        lab.run(8, &[way; 5]);
        assert_eq!(lab.open(), [(Kind::Errors, Scope::Shared, vec![])], "{:?}", lab.told());
        assert!(
            lab.told()[0].starts_with("Something shared is failing: all 5 instances failed "),
            "{:?}",
            lab.told()
        );
        lab.run(4, &[WELL; 5]);
        assert_eq!(lab.open(), [], "{:?}", lab.told());
    }
}

#[test]
fn what_slows_all_is_shared() {
    let mut lab = Lab::settled(5);
    lab.run(3, &[Way { micros: 120_000.0, ..WELL }; 5]);
    assert_eq!(lab.open(), [(Kind::Latency, Scope::Shared, vec![])], "{:?}", lab.told());
    assert!(
        lab.told()[0].starts_with("Something shared is slow: all 5 instances became slow alike")
    );
}

#[test]
fn a_dependency_that_fails_a_little_blames_nobody() {
    let mut lab = Lab::new();
    let busy = Way { attempts: 200, ..WELL };
    lab.run(40, &[busy; 5]);
    lab.run(20, &[Way { fails: 0.054, ..busy }; 5]);
    assert_eq!(lab.open(), [(Kind::Errors, Scope::Shared, vec![])], "{:?}", lab.told());
}

#[test]
fn a_dependency_that_fails_one_call_in_twenty_is_shared_whatever_the_dice_say() {
    let well = Way { attempts: 120, ..WELL };
    let (mut found, mut blamed) = (0, 0);
    for seed in 0..200 {
        let mut lab = Lab::new();
        lab.rng = seed;
        lab.run(15, &[well; 5]);
        let changes = lab.run(10, &[Way { fails: 0.05, ..well }; 5]);
        let opened = || changes.iter().filter(|change| change.step == Step::Opened);
        blamed += opened().filter(|change| !change.finding.instances.is_empty()).count();
        found += usize::from(opened().any(|change| change.finding.scope == Scope::Shared));
    }
    assert_eq!(blamed, 0);
    assert!(found >= 196, "{found} of 200");
}

#[test]
fn one_that_fails_all_amid_an_outage_is_still_named() {
    let mut lab = Lab::settled(6);
    let mut ways = vec![Way { fails: 0.3, ..WELL }; 6];
    ways[0].fails = 1.0;
    lab.run(4, &ways);
    let open = lab.open();
    assert!(open.contains(&(Kind::Errors, Scope::Shared, vec![])), "{:?}", lab.told());
    assert!(open.contains(&(Kind::Errors, Scope::One, vec![BAD])), "{:?}", lab.told());
    assert_eq!(open.len(), 2);
}

#[test]
fn two_of_four_and_of_five_are_one_group() {
    for of in [4, 5] {
        let mut lab = Lab::settled(of);
        let mut ways = vec![WELL; of];
        ways[1].fails = 0.4;
        ways[2].fails = 0.5;
        lab.run(4, &ways);
        let both = vec!["10.9.0.12:8080", "10.9.0.13:8080"];
        assert_eq!(lab.open(), [(Kind::Errors, Scope::Group, both)], "{:?}", lab.told());
        let start = format!("2 of {of} instances differ from the others: 10.9.0.12:8080 failed ");
        assert!(lab.told()[0].starts_with(&start), "{:?}", lab.told());
    }
}

#[test]
fn another_mix_of_routes_is_no_fault() {
    let mut lab = Lab::new();
    let usual = Way { last_fails: 0.2, attempts: 150, ..WELL };
    let skewed = Way { mix: (0.2, 0.2), ..usual };
    lab.run(
        60,
        &first(skewed, 5)
            .into_iter()
            .map(|way| Way { last_fails: 0.2, attempts: 150, ..way })
            .collect::<Vec<_>>(),
    );
    assert_eq!(lab.open(), [], "{:?}", lab.told());
}

#[test]
fn of_two_nobody_is_named_and_one_alone_is_held_against_its_past() {
    let mut lab = Lab::new();
    let busy = Way { attempts: 200, ..WELL };
    lab.run(40, &[busy; 2]);
    lab.run(3, &[Way { fails: 0.4, ..busy }, busy]);
    assert_eq!(lab.open(), [(Kind::Errors, Scope::Differs, vec![])], "{:?}", lab.told());
    assert!(lab.told()[0].ends_with("With two instances nothing says which of them is unusual."));
    let mut lab = Lab::settled(1);
    lab.run(3, &[Way { fails: 0.4, ..WELL }]);
    assert_eq!(lab.open(), [(Kind::Errors, Scope::Pool, vec![])], "{:?}", lab.told());
}

#[test]
fn a_check_that_does_not_see_it_is_told() {
    let mut lab = Lab::settled(5);
    lab.run(12, &first(Way { fails: 0.5, ..WELL }, 5));
    let found = lab.engine.open().iter().find(|finding| finding.kind == Kind::Contradiction);
    let found = found.map(|finding| (finding.instances.as_slice(), finding.sentence.as_str()));
    let (who, sentence) = found.unwrap_or_default();
    assert_eq!(who, [BAD]);
    assert!(
        sentence.starts_with("10.9.0.11:8080 passes 12 of 12 health checks and failed "),
        "{sentence}"
    );
    lab.run(4, &[WELL; 5]);
    assert!(lab.engine.open().is_empty());
}

#[test]
fn who_leaves_rotation_takes_the_finding_along() {
    let mut lab = Lab::settled(5);
    lab.run(3, &first(Way { fails: 1.0, ..WELL }, 5));
    let changes = lab.run(3, &first(Way { attempts: 0, probes: 0, ..WELL }, 5));
    assert_eq!(changes.last().map(|change| change.step), Some(Step::Closed(End::LeftRotation)));
}

#[test]
fn few_attempts_are_judged_over_more_windows() {
    let mut lab = Lab::new();
    let quiet = Way { attempts: 15, ..WELL };
    lab.run(60, &[quiet; 5]);
    let mut ways = [quiet; 5];
    ways[0].fails = 0.5;
    lab.run(14, &ways);
    assert_eq!(lab.open(), [(Kind::Errors, Scope::One, vec![BAD])], "{:?}", lab.told());
    assert_eq!(lab.engine.open()[0].evidence["window_s"], 25);
    lab.run(20, &[quiet; 5]);
    assert_eq!(lab.open(), [], "{:?}", lab.told());
}

#[test]
fn what_the_instance_does_all_day_is_chronic_and_never_pages() {
    let mut lab = Lab::settled(5);
    let ill = first(Way { fails: 0.4, ..WELL }, 5);
    let mut archive = Archive::default();
    for quarter in 0..20 {
        let mut window = lab.window(&ill);
        window.index = quarter;
        archive.add(&window, 900);
    }
    lab.engine = Lab::settled(5).engine;
    lab.at = 1_040;
    for _ in 0..3 {
        let window = lab.window(&ill);
        // The windows of this test lie within the first hours of the epoch: so does the archive.
        let mut shifted = archive.clone();
        let quarters: Vec<Quarter> = shifted
            .quarters()
            .iter()
            .map(|quarter| Quarter {
                start_us: quarter.start_us - 86_400_000_000,
                ..quarter.clone()
            })
            .collect();
        lab.engine.judge(window, &Context { history: &quarters, ..Context::default() });
    }
    let finding = &lab.engine.open()[0];
    assert!(finding.chronic && finding.severity == Gravity::Info, "{finding:?}");
    assert!(finding.sentence.ends_with(" It has been like this all day."), "{}", finding.sentence);
}

#[test]
fn what_the_named_have_in_common_is_told() {
    let mut lab = Lab::settled(6);
    let mut ways = vec![WELL; 6];
    ways[1].fails = 0.6;
    ways[4].fails = 0.6;
    let about = |zone: &str| About { zone: Some(zone.to_owned()), ..About::default() };
    let about: BTreeMap<String, About> =
        (0..6).map(|i| (name(i), about(if i == 1 || i == 4 { "b" } else { "a" }))).collect();
    for _ in 0..3 {
        let window = lab.window(&ways);
        lab.engine.judge(window, &Context { about: &about, ..Context::default() });
    }
    assert!(lab.told()[0].ends_with(" Only they have zone b."), "{:?}", lab.told());
}

#[test]
fn who_drains_is_neither_judged_nor_a_peer() {
    let mut lab = Lab::settled(5);
    let draining: BTreeSet<String> = [BAD.to_owned()].into();
    for _ in 0..4 {
        let window = lab.window(&first(Way { fails: 1.0, ..WELL }, 5));
        lab.engine.judge(window, &Context { draining: &draining, ..Context::default() });
    }
    assert_eq!(lab.open(), [], "{:?}", lab.told());
}

#[test]
fn another_process_goes_on_as_if_nothing_had_happened() {
    let ill = first(Way { fails: 0.3, ..WELL }, 5);
    for stop in [41, 43, 50] {
        let mut lab = Lab::settled(5);
        let mut script: Vec<Window> = Vec::new();
        let mut again = Lab::new();
        for at in 0..70 {
            let ways = if (41..55).contains(&at) { ill.clone() } else { vec![WELL; 5] };
            script.push(again.window(&ways));
        }
        lab.engine = Lab::new().engine;
        let mut other = None;
        for (at, window) in script.iter().enumerate() {
            let expected = lab.engine.judge(window.clone(), &Context::default());
            if let Some(other) = &mut other {
                let other: &mut Engine = other;
                assert_eq!(
                    other.judge(window.clone(), &Context::default()),
                    expected,
                    "{stop} {at}"
                );
            }
            if at == stop {
                let text = serde_json::to_string(&lab.engine.state()).unwrap();
                let state: EngineState = serde_json::from_str(&text).unwrap();
                let settings = Settings { window_s: 5, warm_up_s: 30, ..Settings::default() };
                let history = script[..=at].iter().cloned();
                other = Some(Engine::restore("app", &settings, state, history));
            }
        }
        assert_eq!(other.map(|other| other.state()), Some(lab.engine.state()));
    }
}

#[test]
fn windows_out_of_order_are_ignored_and_gaps_are_silence() {
    let mut lab = Lab::settled(5);
    lab.run(3, &first(Way { fails: 1.0, ..WELL }, 5));
    let mut late = lab.window(&[WELL; 5]);
    late.index -= 10;
    assert_eq!(lab.engine.judge(late, &Context::default()), []);
    let mut later = lab.window(&[WELL; 5]);
    later.index += 100_000;
    let changes = lab.engine.judge(later, &Context::default());
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].step, Step::Closed(End::LeftRotation));
    assert_eq!(lab.open(), []);
}
