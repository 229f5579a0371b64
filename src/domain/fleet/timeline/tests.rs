use serde_json::json;

use super::{
    super::{
        finding::{self, Gravity, Kind, Scope},
        settings::{FewReady, HealthCheck},
        title,
    },
    *,
};

mod lost;

const MINUTE: i64 = 60 * SECOND;

/// A pool whose minutes are stepped through with events and traffic of a test's choice.
struct Pool {
    line: Timeline,
    minute: i64,
    told: Told,
    sources: Vec<Heard>,
}

impl Pool {
    fn new(settings: &Settings) -> Self {
        let line = Timeline::new("app", settings);
        Self { line, minute: 0, told: Told::default(), sources: Vec::new() }
    }

    /// One minute with these events, and `per_minute` evenly spaced attempts on each of `serving`.
    fn minute(&mut self, events: &[Event], serving: &[&str], per_minute: u64) -> Told {
        self.marked(events, serving, per_minute, &Marks::default())
    }

    fn marked(&mut self, events: &[Event], serving: &[&str], n: u64, marks: &Marks) -> Told {
        let mut window = Window::new(self.minute);
        let from = self.minute * MINUTE;
        for name in serving {
            let cell = Cell {
                attempts: n,
                first_us: Some(from + SECOND),
                last_us: Some(from + MINUTE - SECOND),
                ..Cell::default()
            };
            window.cells.entry((*name).to_owned()).or_default().insert("GET /".into(), cell);
        }
        self.minute += 1;
        let told = self.line.step(Step {
            until_us: self.minute * MINUTE,
            events,
            window: &window,
            marks,
            sources: &self.sources,
        });
        self.told.ready.extend(told.ready.iter().cloned());
        self.told.removals.extend(told.removals.iter().cloned());
        self.told.restarts.extend(told.restarts.iter().cloned());
        self.told.findings.extend(told.findings.iter().cloned());
        told
    }

    fn kinds(&self) -> Vec<(Kind, Scope)> {
        self.line.open().iter().map(|f| (f.kind, f.scope)).collect()
    }
}

fn at(secs: f64) -> i64 {
    (secs * SECOND as f64) as i64
}

fn state(secs: f64, name: &str, state: State, active: Option<u32>) -> Event {
    Event { active, ..Event::new(at(secs), Source::Haproxy, What::State(state)).of(name) }
}

fn check(secs: f64, name: &str, passed: bool, reason: &str) -> Event {
    let event = Event::new(at(secs), Source::Haproxy, What::Check { passed }).of(name);
    Event { reason: Some(reason.to_owned()), ..event }
}

#[test]
fn a_removal_runs_from_the_first_failure_to_the_state_line() {
    let check_every_second =
        HealthCheck { path: None, interval_s: 1.0, timeout_s: 1.0, unhealthy: 2, healthy: 2 };
    let settings = Settings { check: Some(check_every_second), ..Settings::default() };
    let mut pool = Pool::new(&settings);
    let refused = "Layer4 connection problem, info: \"Connection refused\"";
    let events = [
        check(7.569, "app2", false, refused),
        check(8.57, "app2", false, refused),
        state(8.5707, "app2", State::Unready, Some(2)),
        check(12.58, "app2", true, "Layer7 check passed"),
        check(13.579, "app2", true, "Layer7 check passed"),
        state(13.5791, "app2", State::Ready, Some(3)),
        // Slow start says it twice.
        state(16.6, "app2", State::Ready, Some(3)),
    ];
    let marks = Marks { redispatched: vec![at(1.0), at(7.379), at(7.5)], ..Marks::default() };
    let told = pool.marked(&events, &["app1", "app2", "app3"], 60, &marks);
    let removal = told.removals.last().unwrap();
    assert_eq!(removal.failed_us, Some(at(7.379)), "from the redispatch, as nobody else failed");
    assert_eq!(removal.time_us(), Some(at(8.5707) - at(7.379)));
    assert_eq!(removal.minimum_us, Some(2 * SECOND));
    assert_eq!((removal.well_us, removal.returned_us), (Some(at(12.58)), Some(at(13.5791))));
    assert_eq!(removal.return_us(), Some(at(13.5791) - at(12.58)));
    let app2 = &pool.line.instances()["app2"];
    assert_eq!((app2.transitions, app2.state), (2, State::Ready));
    assert_eq!(app2.restarts, Restarts { certain: 0, probable: 1 }, "refused, then back");
    let counts: Vec<Option<u32>> = told.ready.iter().map(|point| point.ready).collect();
    assert_eq!(counts, [Some(2), Some(3)]);
}

#[test]
fn what_is_done_on_purpose_is_a_transition_but_no_flapping() {
    let mut pool = Pool::new(&Settings::default());
    let mut events = Vec::new();
    for i in 0..10 {
        let t = f64::from(i) * 4.0;
        events.push(state(t, "a", State::Draining, Some(1)));
        events.push(state(t + 2.0, "a", State::Ready, None));
    }
    pool.minute(&events, &["a", "b"], 60);
    let a = &pool.line.instances()["a"];
    assert_eq!((a.transitions, a.unplanned(MINUTE, 1_800)), (20, 0));
    assert!(pool.kinds().is_empty(), "{:?}", pool.kinds());
    assert!(pool.told.removals.iter().all(|r| r.cause == Cause::Drain && r.time_us().is_none()));
    assert_eq!(pool.line.ready().unwrap().ready, Some(2), "a line without a count moves it by one");
}

#[test]
fn one_instance_flaps_with_hysteresis_and_three_together_are_a_shared_fault() {
    let mut pool = Pool::new(&Settings::default());
    let flap = |name: &str, from: f64, n: i32| -> Vec<Event> {
        (0..n)
            .flat_map(|i| {
                let t = from + f64::from(i) * 10.0;
                [state(t, name, State::Unready, None), state(t + 5.0, name, State::Ready, None)]
            })
            .collect()
    };
    let all = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    pool.minute(&flap("a", 0.0, 3), &all, 60);
    assert_eq!(pool.kinds(), [(Kind::Flapping, Scope::One)]);
    assert_eq!(pool.line.open()[0].instances, ["a"]);
    let mut events = flap("b", 60.0, 3);
    events.extend(flap("c", 62.0, 3));
    events.sort_by_key(|event| event.at_us);
    pool.minute(&events, &all, 60);
    assert_eq!(pool.kinds(), [(Kind::Flapping, Scope::Shared)], "no instance is blamed");
    assert!(pool.line.open()[0].instances.is_empty());
    for _ in 0..30 {
        pool.minute(&[], &all, 60);
    }
    assert!(pool.kinds().is_empty(), "half an hour of peace ends it: {:?}", pool.kinds());
}

#[test]
fn fewer_than_the_floor_is_critical_after_half_a_minute_and_a_learned_number_fires_nothing() {
    let settings = Settings { expected: Some(4), ..Settings::default() };
    let mut pool = Pool::new(&settings);
    let all = ["a", "b", "c", "d"];
    let down = |secs, name, left| state(secs, name, State::Unready, Some(left));
    pool.minute(&[down(10.0, "a", 3)], &all[1..], 60);
    assert!(pool.kinds().is_empty(), "three of four are at the floor");
    pool.minute(&[down(110.0, "b", 2)], &all[2..], 60);
    assert!(pool.kinds().is_empty(), "ten seconds below it");
    pool.minute(&[], &all[2..], 60);
    assert_eq!(pool.kinds(), [(Kind::FewReady, Scope::Pool)]);
    let finding = &pool.line.open()[0];
    assert_eq!((finding.severity, finding.from_us), (Gravity::Critical, at(110.0)));
    assert_eq!(
        finding.found_us,
        3 * MINUTE + 10 * SECOND,
        "once the minute is over, and late lines in"
    );
    assert_eq!(
        finding.sentence,
        "2 of 4 ready, fewer than 3; the others carry × 2.00; counted by HAProxy."
    );
    pool.minute(&[state(190.0, "b", State::Ready, Some(3))], &all[1..], 60);
    assert!(pool.kinds().is_empty());
    for _ in 0..12 {
        pool.minute(&[], &all[1..], 60);
    }
    assert_eq!(pool.line.open()[0].severity, Gravity::Warning, "ten minutes below the expected");

    let mut pool = Pool::new(&Settings::default());
    for _ in 0..10 {
        pool.minute(&[state(0.0, "a", State::Ready, Some(4))], &all, 60);
    }
    pool.minute(&[down(610.0, "a", 1)], &all[1..], 60);
    pool.minute(&[], &all[1..], 60);
    assert_eq!(pool.line.expected(), Some(Expected { count: 4, learned: true }));
    assert!(pool.kinds().is_empty(), "{:?}", pool.kinds());
}

#[test]
fn silence_of_one_is_leaving_and_silence_of_all_is_a_silent_source() {
    let mut pool = Pool::new(&Settings::default());
    let all = ["a", "b", "c", "d"];
    for _ in 0..5 {
        pool.minute(&[], &all, 60);
    }
    assert_eq!(pool.line.ready().unwrap().ready, Some(4));
    assert_eq!(pool.line.ready().unwrap().source, Source::Traffic);
    pool.minute(&[], &all[..3], 60);
    assert_eq!(pool.kinds(), [(Kind::LeftRotation, Scope::One)]);
    let removal = pool.told.removals.last().unwrap().clone();
    assert_eq!((removal.cause, removal.removed_us), (Cause::Silence, 5 * MINUTE - SECOND));
    assert_eq!(pool.line.instances()["d"].state, State::Unknown, "never down for lack of traffic");
    assert_eq!(pool.line.instances()["a"].state, State::InRotation, "nobody says that it is ready");
    pool.minute(&[], &all, 60);
    assert!(pool.kinds().is_empty());
    assert_eq!(pool.told.removals.last().unwrap().returned_us, Some(6 * MINUTE + SECOND));
    let removals = pool.told.removals.len();
    pool.sources =
        vec![Heard { name: "lb".into(), newest_us: 7 * MINUTE, served: true, ..Heard::default() }];
    for _ in 0..3 {
        pool.minute(&[], &[], 60);
    }
    assert_eq!(pool.told.removals.len(), removals, "nobody left: the log is silent");
    assert_eq!(pool.kinds(), [(Kind::NoData, Scope::Pool)]);
}

#[test]
fn counted_restarts_are_certain_and_a_falling_counter_is_another_life() {
    let mut pool = Pool::new(&Settings::default());
    let count = |secs: f64, n| {
        let event = Event::new(at(secs), Source::Kubernetes, What::RestartCount(n)).of("pod-a");
        Event { reason: Some("OOMKilled".into()), ..event }
    };
    pool.minute(&[count(1.0, 7)], &["pod-a"], 60);
    assert!(pool.told.restarts.is_empty(), "what it had before is not ours to tell");
    let started = Event::new(at(61.0), Source::Kubernetes, What::Started).of("pod-a");
    let told = pool.minute(&[started, count(62.0, 8)], &["pod-a"], 60);
    assert_eq!((told.restarts.len(), told.restarts[0].certain), (1, true), "once, not twice");
    pool.minute(&[count(122.0, 0)], &["pod-a"], 60);
    pool.minute(&[count(182.0, 2)], &["pod-a"], 60);
    assert_eq!(pool.line.instances()["pod-a"].restarts, Restarts { certain: 3, probable: 0 });
    assert_eq!(pool.kinds(), [(Kind::Restart, Scope::One)]);
    assert!(pool.line.open()[0].sentence.contains("OOMKilled"), "{}", pool.line.open()[0].sentence);
    let back_off = Event::new(at(250.0), Source::Kubernetes, What::BackOff).of("pod-a");
    pool.minute(&[back_off], &["pod-a"], 60);
    assert_eq!(pool.line.open()[0].severity, Gravity::Critical);
}

#[test]
fn a_gap_in_its_own_checks_is_probably_a_restart_unless_everybody_was_silent() {
    let probe = |secs: f64, name: &str, passed| {
        Event::new(at(secs), Source::Probes, What::Check { passed }).of(name)
    };
    let run = |peers_go_on: bool| {
        let mut pool = Pool::new(&Settings::default());
        let mut events = Vec::new();
        for i in 0..12 {
            let t = f64::from(i) * 5.0;
            events.push(probe(t, "a", true));
            events.push(probe(t + 1.0, "b", true));
        }
        pool.minute(&events, &[], 0);
        let mut events = vec![probe(100.0, "a", false), probe(105.0, "a", true)];
        if peers_go_on {
            events.extend((0..10).map(|i| probe(61.0 + f64::from(i) * 5.0, "b", true)));
        }
        events.sort_by_key(|event| event.at_us);
        pool.minute(&events, &[], 0);
        pool.line.instances()["a"].restarts
    };
    assert_eq!(run(true), Restarts { certain: 0, probable: 1 });
    assert_eq!(run(false), Restarts::default());
}

#[test]
fn an_alb_target_follows_the_thresholds_node_by_node() {
    let mut pool = Pool::new(&Settings::default());
    let said = |secs: f64, node: &str, passed| {
        let event = Event::new(at(secs), Source::AlbHealth, What::Check { passed }).of("t1");
        Event { reporter: Some(node.into()), ..event }
    };
    let state_of = |pool: &Pool| pool.line.instances()["t1"].state;
    pool.minute(&[said(1.0, "n1", true), said(2.0, "n2", true), said(3.0, "n3", true)], &[], 0);
    assert_eq!(state_of(&pool), State::Ready, "a new target is in after one pass");
    pool.minute(&[said(61.0, "n1", false), said(62.0, "n2", false)], &[], 0);
    assert_eq!(state_of(&pool), State::Ready);
    pool.minute(&[said(121.0, "n1", false)], &[], 0);
    assert_eq!(state_of(&pool), State::Ready, "one of three nodes");
    pool.minute(&[said(181.0, "n2", false)], &[], 0);
    assert_eq!(state_of(&pool), State::Unready);
    let removal = pool.told.removals.last().unwrap();
    assert_eq!((removal.failed_us, removal.removed_us), (Some(at(61.0)), at(181.0)));
    let passes: Vec<Event> =
        (0..5).map(|i| said(241.0 + f64::from(i) * 10.0, "n1", true)).collect();
    pool.minute(&passes[..4], &[], 0);
    assert_eq!(state_of(&pool), State::Unready, "five passes bring it back");
    pool.minute(&passes[4..], &[], 0);
    assert_eq!(state_of(&pool), State::Ready);
}

#[test]
fn nginx_ejects_and_traffic_brings_back() {
    let mut pool = Pool::new(&Settings::default());
    let out = Event::new(at(5.0), Source::NginxError, What::Ejected { enforced: true }).of("a");
    pool.minute(&[out], &["b"], 60);
    assert_eq!(pool.line.instances()["a"].state, State::Unready);
    assert_eq!(pool.told.removals.last().unwrap().cause, Cause::Ejected);
    pool.minute(&[], &["a", "b"], 60);
    assert_eq!(pool.line.instances()["a"].state, State::Ready);
    let logged = Event::new(at(125.0), Source::Envoy, What::Ejected { enforced: false }).of("b");
    pool.minute(&[logged], &["a", "b"], 60);
    assert_eq!(pool.line.instances()["b"].state, State::InRotation, "only logged");
}

#[test]
fn a_trial_by_nginx_that_fails_is_neither_a_return_nor_a_zombie() {
    let mut pool = Pool::new(&Settings { drain_s: 5, ..Settings::default() });
    let out = Event::new(at(5.0), Source::NginxError, What::Ejected { enforced: true }).of("a");
    pool.minute(&[out], &["b"], 60);
    let mut window = Window::new(pool.minute);
    let tried = Some(at(90.0));
    let mut trial = Cell { attempts: 1, first_us: tried, last_us: tried, ..Cell::default() };
    trial.faults.connect = 1;
    window.cells.entry("a".into()).or_default().insert("GET /".into(), trial);
    let (first_us, last_us) = (Some(at(61.0)), Some(at(119.0)));
    let serving = Cell { attempts: 60, first_us, last_us, ..Cell::default() };
    window.cells.entry("b".into()).or_default().insert("GET /".into(), serving);
    let told = pool.line.step(Step {
        until_us: 2 * MINUTE,
        events: &[],
        window: &window,
        marks: &Marks::default(),
        sources: &[],
    });
    pool.minute = 2;
    assert_eq!(pool.line.instances()["a"].state, State::Unready);
    assert_eq!(told.findings, []);
    let told = pool.minute(&[], &["a", "b"], 60);
    assert_eq!(told.removals[0].returned_us, Some(at(121.0)));
    assert_eq!(
        told.ready.last().map(|point| (point.at_us, point.ready)),
        Some((at(121.0), Some(2)))
    );
    assert!(pool.line.instances()["a"].is_warming(at(180.0), &Settings::default()));
}

#[test]
fn a_removed_instance_that_serves_on_is_a_zombie_unless_all_are_out() {
    let mut pool = Pool::new(&Settings { drain_s: 30, ..Settings::default() });
    pool.minute(&[state(1.0, "a", State::Draining, Some(1))], &["a", "b"], 60);
    assert!(pool.kinds().is_empty(), "it drains");
    pool.minute(&[], &["a", "b"], 60);
    assert_eq!(pool.kinds(), [(Kind::Zombie, Scope::One)]);
    pool.minute(&[state(121.0, "b", State::Unready, Some(0))], &["a", "b"], 60);
    assert!(pool.kinds().is_empty(), "nobody is ready: a platform that fails open asks all");
}

#[test]
fn an_old_version_is_stale_a_quarter_of_an_hour_after_the_roll_out() {
    let mut pool = Pool::new(&Settings::default());
    let runs = |secs: f64, name: &str, version: &str| {
        Event::new(at(secs), Source::Kubernetes, What::Version(version.into())).of(name)
    };
    let names: Vec<String> = (0..10).map(|i| format!("p{i}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let old: Vec<Event> = all.iter().map(|name| runs(1.0, name, "v1")).collect();
    pool.minute(&old, &all, 60);
    let new: Vec<Event> = all[1..].iter().map(|name| runs(61.0, name, "v2")).collect();
    pool.minute(&new, &all, 60);
    for _ in 0..13 {
        pool.minute(&[], &all, 60);
        assert!(pool.kinds().is_empty());
    }
    for _ in 0..3 {
        pool.minute(&[], &all, 60);
    }
    assert_eq!(pool.kinds(), [(Kind::StaleVersion, Scope::One)]);
    assert_eq!(pool.line.open()[0].instances, ["p0"]);
}

#[test]
fn while_versions_go_on_changing_it_is_a_roll_out_and_nobody_is_stale() {
    let mut pool = Pool::new(&Settings::default());
    let runs = |secs: f64, name: &str, version: &str| {
        Event::new(at(secs), Source::Kubernetes, What::Version(version.into())).of(name)
    };
    let all = ["p0", "p1", "p2", "p3", "p4"];
    let old: Vec<Event> = all.iter().map(|name| runs(1.0, name, "v1")).collect();
    pool.minute(&old, &all, 60);
    for _ in 1..60 {
        pool.minute(&[], &all, 60);
    }
    // One after the other, ten minutes apart: first the new one is alone, then the old one is.
    for (turn, name) in all.iter().enumerate() {
        let minute = 60 + turn * 10;
        pool.minute(&[runs(minute as f64 * 60.0 + 1.0, name, "v2")], &all, 60);
        for _ in 1..10 {
            pool.minute(&[], &all, 60);
            assert_eq!(pool.kinds(), [], "after {} of 5", turn + 1);
        }
    }
    for _ in 0..20 {
        pool.minute(&[], &all, 60);
    }
    assert_eq!(pool.told.findings, [], "all run v2");
    // One that is tried out and then left alone is told, and not as an old one.
    pool.minute(&[runs(130.0 * 60.0 + 1.0, "p3", "v3")], &all, 60);
    for _ in 1..15 {
        pool.minute(&[], &all, 60);
        assert_eq!(pool.kinds(), []);
    }
    pool.minute(&[], &all, 60);
    assert_eq!(pool.kinds(), [(Kind::StaleVersion, Scope::One)]);
    let told = &pool.line.open()[0];
    assert_eq!(told.sentence, "p3 has run v3 for 15 min; the other 4 go on with v2.");
    assert_eq!(title::title(told), "p3 alone runs a newer version");
}

#[test]
fn many_back_at_once_after_a_shared_fault_is_told() {
    let mut pool = Pool::new(&Settings::default());
    let all = ["a", "b", "c", "d", "e"];
    let down: Vec<Event> =
        (0..5).map(|i| state(f64::from(i), all[i as usize], State::Unready, None)).collect();
    pool.minute(&down, &all, 60);
    let up: Vec<Event> =
        (0..5).map(|i| state(70.0 + f64::from(i), all[i as usize], State::Ready, None)).collect();
    let told = pool.minute(&up, &all, 60);
    let kinds: Vec<Kind> = told
        .findings
        .iter()
        .filter(|change| change.step == finding::Step::Opened)
        .map(|change| change.finding.kind)
        .collect();
    assert_eq!(kinds, [Kind::ReturnedTogether]);
}

#[test]
fn a_reloaded_balancer_begins_anew() {
    let mut pool = Pool::new(&Settings::default());
    let by = |event: Event, process: &str| Event { reporter: Some(process.into()), ..event };
    let all = ["a", "b", "c"];
    pool.minute(&[by(state(1.0, "a", State::Unready, Some(2)), "lb-1:100")], &all[1..], 60);
    assert_eq!(pool.line.ready().unwrap().ready, Some(2));
    pool.minute(&[by(state(70.0, "b", State::Unready, Some(2)), "lb-1:200")], &all, 60);
    let state_of = |name: &str| pool.line.instances()[name].state;
    assert_eq!((state_of("a"), state_of("b")), (State::Ready, State::Unready));
    let now = pool.line.ready().unwrap();
    assert_eq!((now.ready, now.least), (Some(2), Some(2)), "what the old process counted is gone");
    let mut pool = Pool::new(&Settings::default());
    pool.minute(&[by(state(1.0, "a", State::Unready, Some(2)), "lb-1:100")], &all, 60);
    pool.minute(&[by(state(70.0, "b", State::Unready, Some(1)), "lb-2:200")], &all, 60);
    let now = pool.line.ready().unwrap();
    assert_eq!((now.least, now.most), (Some(1), Some(2)), "another host's is another reporter");
}

#[test]
fn a_line_stored_and_read_goes_on_as_if_nothing_had_happened() {
    let settings = Settings { expected: Some(2), ..Settings::default() };
    let mut pool = Pool::new(&settings);
    pool.minute(&[state(10.0, "a", State::Unready, Some(1))], &["b"], 60);
    let text = serde_json::to_string(&pool.line).unwrap();
    let read: Timeline = serde_json::from_str(&text).unwrap();
    assert_eq!(read.with_settings(&settings), pool.line);
}

#[test]
fn thousands_of_years_between_two_lines_are_no_more_than_time() {
    let mut timeline = Timeline::new("app", &Settings::default());
    let marks = Marks::default();
    let mut step = |until_us: i64, events: &[Event]| {
        let window = Window::new(until_us / 60_000_000);
        let sources = &[];
        timeline.step(Step { until_us, events, window: &window, marks: &marks, sources });
        timeline.expected()
    };
    let ready = Event::new(-62_000_000_000_000_000, Source::Haproxy, What::State(State::Ready));
    step(-62_000_000_000_000_000 + 1, &[ready.of("a")]);
    let expected = step(253_000_000_000_000_000, &[]);
    assert_eq!(expected.map(|e| (e.count, e.learned)), Some((1, true)));
    // And a platform may expect as many as it likes.
    assert_eq!(Settings::default().floor(u32::MAX), 3_221_225_472);
    let floors: Vec<u32> = (0..=9).map(|n| Settings::default().floor(n)).collect();
    assert_eq!(floors, [1, 1, 2, 3, 3, 4, 5, 6, 6, 7]);
}

#[test]
fn whom_traffic_alone_shows_is_in_rotation_and_a_first_word_is_no_change() {
    let mut pool = Pool::new(&Settings::default());
    let all = ["a", "b", "c"];
    for _ in 0..3 {
        pool.minute(&[], &all, 60);
    }
    let a = &pool.line.instances()["a"];
    assert_eq!((a.state, a.source), (State::InRotation, Some(Source::Traffic)));
    assert_eq!((a.ready_us, a.known_us), (0, 0), "nobody has said whether it was ready");
    assert_eq!(a.rotation_us, 3 * MINUTE - SECOND);
    // A platform that is asked for the first time.
    let said =
        |name: &str, state| Event::new(at(181.0), Source::Kubernetes, What::State(state)).of(name);
    pool.minute(&[said("a", State::Ready), said("b", State::Starting)], &all, 60);
    let state_of = |name: &str| pool.line.instances()[name].state;
    assert_eq!((state_of("a"), state_of("b")), (State::Ready, State::Starting));
    assert_eq!(state_of("c"), State::InRotation);
    assert!(pool.line.instances().values().all(|i| i.transitions == 0));
    assert_eq!(pool.told.removals, []);
    let now = pool.line.ready().unwrap();
    assert_eq!((now.ready, now.source), (Some(1), Source::Kubernetes), "in rotation is not ready");
    assert_eq!(now.by_words(), "by Kubernetes");
    // nginx tells of changes only: of whom it is silent, there is none to tell.
    let mut pool = Pool::new(&Settings::default());
    pool.minute(&[], &all, 60);
    let out = Event::new(at(65.0), Source::NginxError, What::Ejected { enforced: true }).of("a");
    pool.minute(&[out], &all[1..], 60);
    let now = pool.line.ready().unwrap();
    assert_eq!((now.ready, now.source), (Some(2), Source::NginxError));
    assert_eq!(now.by_words(), "0 by nginx's error log, 2 by traffic");
    assert_eq!(pool.line.instances()["a"].transitions, 1);
    // It is back by an answered request, which is nginx's verdict.
    pool.minute(&[], &all, 60);
    let now = pool.line.ready().unwrap();
    assert_eq!(now.by_words(), "1 by nginx's error log, 2 by traffic");
    assert_eq!(now.ready, Some(3));
    let kept = serde_json::to_value(&now).unwrap();
    assert_eq!(kept["by"], json!({"nginx_error": 1, "traffic": 2}));
    assert_eq!(serde_json::from_value::<ReadyPoint>(kept).unwrap(), now);
}

#[test]
fn who_was_harmed_is_counted_to_the_moment_of_removal_and_not_by_minutes() {
    let mut pool = Pool::new(&Settings::default());
    let all = ["a", "b", "c"];
    let failed = |secs: f64, failed, visible| Failed {
        instance: "a".into(),
        at_us: at(secs),
        failed,
        visible,
    };
    // One long before, 7 in the run that leads to removal, 3 that were refused after the return.
    let failures = vec![
        failed(2.0, 1, 1),
        failed(20.0, 2, 1),
        failed(20.2, 4, 0),
        failed(21.9, 1, 1),
        failed(22.3, 2, 2),
        failed(50.0, 3, 3),
    ];
    let runs = vec![FailedRun { instance: "a".into(), from_us: at(20.0) }];
    let marks = Marks { runs, failed: failures, ..Marks::default() };
    let events =
        [state(22.0, "a", State::Unready, Some(2)), state(40.0, "a", State::Ready, Some(3))];
    let told = pool.marked(&events, &all, 60, &marks);
    let removal = told.removals.last().unwrap();
    assert_eq!((removal.failed_us, removal.removed_us), (Some(at(20.0)), at(22.0)));
    assert_eq!((removal.harmed, removal.client_visible), (7, 2));
}

#[test]
fn too_few_in_rotation_is_a_warning_after_three_times_the_patience_and_never_before() {
    let settings = Settings { expected: Some(4), window_s: 5, ..Settings::default() };
    let few = |settings: &Settings, per_window: u64| {
        let mut line = Timeline::new("app", settings);
        let mut told = Vec::new();
        for index in 0..60 {
            let mut window = Window::new(index);
            // From the 20th window on two of four get nothing any more.
            let serving: &[&str] = if index < 20 { &["a", "b", "c", "d"] } else { &["a", "b"] };
            for name in serving {
                let (from, to) = (index * 5 * SECOND, (index + 1) * 5 * SECOND);
                let cell = Cell {
                    attempts: per_window,
                    first_us: Some(from),
                    last_us: Some(to - SECOND / 10),
                    ..Cell::default()
                };
                window.cells.entry((*name).to_owned()).or_default().insert("/".into(), cell);
            }
            let until_us = (index + 1) * 5 * SECOND;
            let marks = Marks::default();
            let step = Step { until_us, events: &[], window: &window, marks: &marks, sources: &[] };
            told.extend(line.step(step).findings);
        }
        told.into_iter().find(|c| c.finding.kind == Kind::FewReady).map(|c| c.finding)
    };
    let finding = few(&settings, 50).expect("two of four");
    assert_eq!(finding.severity, Gravity::Warning);
    assert!(finding.sentence.starts_with("2 of 4 in rotation"), "{}", finding.sentence);
    // T is 15 s for them.
    let waited = finding.found_us - settings.known_us(0) - finding.from_us;
    assert!((45 * SECOND..=50 * SECOND).contains(&waited), "{waited}");
    assert_eq!(few(&settings, 0), None);
    assert_eq!(few(&Settings { min_ready: Some(2), ..settings }, 50), None);
}

#[test]
fn with_nobody_ready_it_is_told_what_was_seen_and_what_the_platform_does() {
    let told = |platform: Option<&str>, serving: &[&str]| {
        let platform = platform.map(str::to_owned);
        let settings = Settings { expected: Some(2), platform, ..Settings::default() };
        let mut pool = Pool::new(&settings);
        let out = |name, left| state(1.0, name, State::Unready, Some(left));
        pool.minute(&[out("a", 1), out("b", 0)], &[], 60);
        pool.minute(&[], serving, 60);
        let finding = pool.line.open().iter().find(|f| f.kind == Kind::FewReady).unwrap();
        (finding.sentence.clone(), finding.evidence["all_out"].clone())
    };
    let (sentence, evidence) = told(None, &[]);
    assert_eq!(
        sentence,
        "0 of 2 ready, fewer than 2; counted by HAProxy. In the last 60 s no request was seen. HAProxy does \
         not fail open: answers 503."
    );
    assert_eq!(evidence["platform"], "haproxy");
    // What stands before HAProxy may be another balancer, and requests show what it does.
    let (sentence, evidence) = told(Some("alb"), &["a", "b"]);
    assert!(sentence.contains("all instances went on being asked. AWS Application"), "{sentence}");
    assert!(sentence.ends_with("fails open: routes to all targets, healthy or not."), "{sentence}");
    assert_eq!(evidence["seen"]["asked"], json!(["a", "b"]));
}

#[test]
fn how_long_too_few_are_ready_is_a_setting() {
    let few = FewReady { critical_s: 5, warning_s: 20 };
    let check =
        HealthCheck { path: None, interval_s: 4.0, timeout_s: 1.0, unhealthy: 2, healthy: 2 };
    let settings =
        Settings { expected: Some(4), window_s: 5, few_ready: few, ..Settings::default() };
    let found = |settings: &Settings, left: u32| {
        let mut line = Timeline::new("app", settings);
        for index in 0..30 {
            let down = |name: &str, left| state(0.5, name, State::Unready, Some(left));
            let names = ["a", "b"];
            let events: Vec<Event> =
                (0..4 - left).map(|i| down(names[i as usize], 3 - i)).collect();
            let events = if index == 0 { events } else { Vec::new() };
            let window = Window::new(index);
            let marks = Marks::default();
            let until_us = (index + 1) * 5 * SECOND;
            line.step(Step {
                until_us,
                events: &events,
                window: &window,
                marks: &marks,
                sources: &[],
            });
            if let Some(finding) = line.open().first() {
                return Some((until_us / SECOND, finding.severity));
            }
        }
        None
    };
    assert_eq!(found(&settings, 2), Some((10, Gravity::Critical)), "5 s below the floor");
    assert_eq!(found(&settings, 3), Some((25, Gravity::Warning)), "20 s below what is expected");
    let checked = Settings { check: Some(check), ..settings };
    assert_eq!(found(&checked, 2), Some((10, Gravity::Critical)), "8 s are two checks");
    let usual = Settings { few_ready: FewReady::default(), ..checked };
    assert_eq!(found(&usual, 2), Some((35, Gravity::Critical)));
}

#[test]
fn whom_one_of_several_balancers_has_in_is_no_zombie() {
    let by = |event: Event, process: &str| Event { reporter: Some(process.into()), ..event };
    let mut pool = Pool::new(&Settings { drain_s: 5, ..Settings::default() });
    let all = ["a", "b", "c"];
    let down = |secs, lb: &str| by(state(secs, "a", State::Unready, Some(2)), lb);
    pool.minute(&[down(1.0, "lb-1:7"), down(1.1, "lb-2:7"), down(1.2, "lb-3:7")], &all[1..], 60);
    // The first of the three sees it back, and asks it.
    pool.minute(&[by(state(70.0, "a", State::Ready, Some(3)), "lb-1:7")], &all, 60);
    pool.minute(&[], &all, 60);
    assert_eq!(pool.line.instances()["a"].state, State::Unready, "most say so");
    assert!(pool.kinds().is_empty(), "{:?}", pool.kinds());
    pool.minute(&[down(181.0, "lb-1:7")], &all[1..], 60);
    pool.minute(&[], &all, 60);
    assert_eq!(pool.kinds(), [(Kind::Zombie, Scope::One)]);
}
