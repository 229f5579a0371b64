//! What is known, and what is not, when sources fall silent.

use serde_json::json;

use super::*;

/// A pool of which two balancers tell, `lb1` of a and b, `lb2` of c and d.
fn two_balancers() -> Pool {
    let settings = Settings { expected: Some(4), ..Settings::default() };
    let mut pool = Pool::new(&settings);
    pool.sources = vec![heard("lb1"), heard("lb2")];
    let events: Vec<Event> = [("a", "lb1"), ("b", "lb1"), ("c", "lb2"), ("d", "lb2")]
        .into_iter()
        .map(|(name, feed)| by(feed, kube(1.0, name, State::Ready)))
        .collect();
    pool.minute(&events, &[], 0);
    assert_eq!(last(&pool), (Some(4), 0));
    pool
}

fn heard(name: &str) -> Heard {
    Heard { name: name.into(), ..Heard::default() }
}

/// Nothing has come of it after this second.
fn silent(name: &str, newest: f64) -> Heard {
    Heard { newest_us: at(newest), patience_s: Some(60), ..heard(name) }
}

fn kube(secs: f64, name: &str, state: State) -> Event {
    Event::new(at(secs), Source::Kubernetes, What::State(state)).of(name)
}

fn by(feed: &str, event: Event) -> Event {
    Event { feed: Some(feed.into()), ..event }
}

fn last(pool: &Pool) -> (Option<u32>, u32) {
    let point = pool.line.ready().unwrap();
    (point.ready, point.unknown)
}

#[test]
fn what_only_a_silent_source_told_is_not_known_until_it_speaks_again() {
    let mut pool = two_balancers();
    pool.sources[0] = silent("lb1", 50.0);
    let told = pool.minute(&[], &[], 0);
    let gap = told.ready.last().unwrap();
    assert_eq!((gap.at_us, gap.ready, gap.unknown), (at(110.0), Some(2), 2));
    let a = &pool.line.instances()["a"];
    assert_eq!((a.state, a.source, a.lost_us), (State::Unknown, None, Some(at(110.0))));
    assert_eq!(a.transitions, 0, "not to know is no turn");
    pool.minute(&[], &[], 0);
    pool.sources[0] = Heard { from_us: Some(at(200.0)), ..heard("lb1") };
    let told = pool.minute(&[by("lb1", kube(210.0, "b", State::Unready))], &[], 0);
    let points: Vec<_> = told.ready.iter().map(|p| (p.at_us, p.ready, p.unknown)).collect();
    assert_eq!(points, [(at(200.0), Some(4), 0), (at(210.0), Some(3), 0)]);
    assert_eq!(pool.line.instances()["b"].transitions, 1);
    assert!(pool.told.removals.iter().all(|removal| removal.instance == "b"));
}

#[test]
fn when_nobody_is_heard_nothing_is_known() {
    let mut pool = two_balancers();
    let sources = [silent("lb1", 50.0), silent("lb2", 55.0)];
    let told = pool.line.fall_silent(&sources, at(300.0));
    let points: Vec<_> = told.ready.iter().map(|p| (p.at_us, p.ready, p.unknown)).collect();
    assert_eq!(points, [(at(110.0), Some(2), 2), (at(115.0), None, 4)]);
    assert_eq!(told.ready[1].source, Source::Kubernetes, "who told last");
    assert_eq!(pool.line.fall_silent(&sources, at(301.0)).ready, [], "it is told once");
    // Between two looks it was stored.
    let stored = serde_json::to_value(&pool.line).unwrap();
    let settings = pool.line.settings.clone();
    pool.line = serde_json::from_value::<Timeline>(stored).unwrap().with_settings(&settings);
    // Minutes later lb2 is there again; windows in between say nothing.
    pool.sources = vec![silent("lb1", 50.0), Heard { from_us: Some(at(250.0)), ..heard("lb2") }];
    for _ in 1..4 {
        assert_eq!(pool.minute(&[], &[], 0).ready, []);
    }
    let told = pool.minute(&[], &[], 0);
    let points: Vec<_> = told.ready.iter().map(|p| (p.at_us, p.ready, p.unknown)).collect();
    assert_eq!(points, [(at(250.0), Some(2), 2)]);
}

#[test]
fn a_source_that_was_deleted_tells_nothing_and_a_renamed_one_goes_on() {
    let mut pool = two_balancers();
    pool.sources = vec![Heard { aliases: vec!["lb1".into()], ..heard("edge") }];
    let told = pool.minute(&[], &[], 0);
    let gap = told.ready.last().unwrap();
    assert_eq!((gap.at_us, gap.ready, gap.unknown), (at(60.0), Some(2), 2), "lb2 is gone");
    pool.sources[0].patience_s = Some(60);
    pool.sources[0].newest_us = at(100.0);
    pool.minute(&[], &[], 0);
    assert_eq!(last(&pool), (None, 4));
}

#[test]
fn who_is_told_of_by_another_source_stays_known() {
    let mut pool = two_balancers();
    let also = by("lb2", kube(61.0, "a", State::Ready));
    pool.sources[0] = silent("lb1", 50.0);
    pool.minute(&[also], &[], 0);
    assert_eq!(last(&pool), (Some(3), 1));
}

#[test]
fn what_is_not_known_neither_begins_nor_ends_too_few() {
    let mut pool = two_balancers();
    let few = |pool: &Pool| {
        let of = pool.line.open().iter().find(|finding| finding.kind == Kind::FewReady);
        of.map(|finding| (finding.severity, finding.from_us))
    };
    // Two of four known ready, two not known: it may be that all are ready.
    pool.sources[0] = silent("lb1", 0.0);
    pool.minute(&[], &[], 0);
    pool.minute(&[], &[], 0);
    assert_eq!((last(&pool), few(&pool)), ((Some(2), 2), None));
    // It was too few for certain, and then nobody knows.
    pool.sources[0] = Heard { from_us: Some(at(180.0)), ..heard("lb1") };
    let events =
        [by("lb1", kube(181.0, "a", State::Unready)), by("lb1", kube(182.0, "b", State::Unready))];
    pool.minute(&events, &[], 0);
    let open = Some((Gravity::Critical, at(182.0)));
    assert_eq!(few(&pool), open);
    pool.sources[0] = silent("lb1", 183.0);
    pool.minute(&[], &[], 0);
    assert_eq!((last(&pool), few(&pool)), ((Some(2), 2), open), "neither better nor worse");
    pool.sources[1] = silent("lb2", 300.0);
    pool.minute(&[], &[], 0);
    pool.minute(&[], &[], 0);
    assert_eq!((last(&pool), few(&pool)), ((None, 4), open));
    assert!(
        !pool.told.findings.iter().any(|change| matches!(change.step, finding::Step::Closed(_)))
    );
    // Back, and known to be enough.
    pool.sources = vec![
        Heard { from_us: Some(at(430.0)), ..heard("lb1") },
        Heard { from_us: Some(at(430.0)), ..heard("lb2") },
    ];
    let events =
        [by("lb1", kube(431.0, "a", State::Ready)), by("lb1", kube(432.0, "b", State::Ready))];
    pool.minute(&events, &[], 0);
    assert_eq!((last(&pool), few(&pool)), ((Some(4), 0), None));
}

#[test]
fn fewer_than_the_floor_for_certain_fires_whoever_is_not_known() {
    let mut pool = two_balancers();
    let out = ["c", "d"].map(|name| by("lb2", kube(120.5, name, State::Unready)));
    pool.sources[0] = silent("lb1", 58.0);
    pool.minute(&[by("lb1", kube(61.0, "a", State::Unready))], &[], 0);
    pool.minute(&out, &[], 0);
    // Nobody is known to be ready, one or two of lb1's may be: fewer than three in any case.
    assert_eq!(last(&pool), (Some(0), 2));
    let few = pool.line.open().iter().find(|finding| finding.kind == Kind::FewReady).unwrap();
    assert_eq!((few.severity, &few.evidence["unknown"]), (Gravity::Critical, &json!(2)));
    assert_eq!(few.sentence, "0 of 4 ready (2 not known), fewer than 3; counted by Kubernetes.");
}

#[test]
fn traffic_that_nobody_tells_of_any_more_says_nothing() {
    let mut pool = Pool::new(&Settings::default());
    pool.sources = vec![heard("lb1"), heard("lb2")];
    let fed = |of: &[(&str, &str)]| {
        let fed = of.iter().map(|(name, feed)| ((*name).to_owned(), [(*feed).to_owned()].into()));
        Marks { fed: fed.collect(), ..Marks::default() }
    };
    let all = fed(&[("a", "lb1"), ("b", "lb1"), ("c", "lb2"), ("d", "lb2"), ("e", "lb2")]);
    for _ in 0..3 {
        pool.marked(&[], &["a", "b", "c", "d", "e"], 60, &all);
    }
    assert_eq!(last(&pool), (Some(5), 0));
    pool.sources[0] = silent("lb1", 179.0);
    let some = fed(&[("c", "lb2"), ("d", "lb2"), ("e", "lb2")]);
    pool.marked(&[], &["c", "d", "e"], 60, &some);
    assert_eq!(pool.line.ready().unwrap().at_us, at(239.0));
    assert_eq!(last(&pool), (Some(3), 2), "left rotation would be a guess");
    assert_eq!(pool.told.removals, []);
    pool.sources[0] = Heard { from_us: Some(at(300.0)), ..heard("lb1") };
    pool.marked(&[], &["c", "d", "e"], 60, &some);
    pool.marked(&[], &["a", "b", "c", "d", "e"], 60, &all);
    assert_eq!(last(&pool), (Some(5), 0));
    assert_eq!(pool.told.removals, []);
}

#[test]
fn a_balancers_own_count_holds_as_long_as_the_balancer_is_heard() {
    let mut pool = Pool::new(&Settings::default());
    pool.sources = vec![heard("one"), heard("two")];
    let line = |feed: &str, process: &str, active: u32| {
        let event = state(1.0, "a", State::Unready, Some(active));
        by(feed, Event { reporter: Some(process.into()), ..event })
    };
    pool.minute(&[line("one", "h1:1", 1), line("two", "h2:1", 5)], &[], 0);
    let point = pool.line.ready().unwrap();
    assert_eq!((point.least, point.most), (Some(1), Some(5)));
    pool.sources[0] = silent("one", 2.0);
    pool.minute(&[], &[], 0);
    let point = pool.line.ready().unwrap();
    assert_eq!((point.ready, point.least, point.most), (Some(5), Some(5), Some(5)));
}

#[test]
fn zones_are_counted_apart_and_those_without_one_last() {
    let mut pool = two_balancers();
    assert_eq!(pool.line.ready().unwrap().zones, []);
    let zones = [("a", "eu-1"), ("b", "eu-2"), ("c", "eu-1")];
    let zones = zones.map(|(name, zone)| (name.to_owned(), zone.to_owned()));
    pool.line = std::mem::replace(&mut pool.line, Timeline::new("", &Settings::default()))
        .with_zones(zones.into());
    pool.sources[1] = silent("lb2", 50.0);
    pool.minute(&[by("lb1", kube(61.0, "b", State::Unready))], &[], 0);
    let zone = |zone: Option<&str>, ready, unknown, instances| ZonePoint {
        zone: zone.map(str::to_owned),
        ready,
        unknown,
        instances,
    };
    let now = pool.line.ready().unwrap();
    let of = [
        zone(Some("eu-1"), Some(1), 1, 2),
        zone(Some("eu-2"), Some(0), 0, 1),
        zone(None, None, 1, 1),
    ];
    assert_eq!(now.zones, of);
    // A platform may say it too.
    let told = Event { zone: Some("eu-3".into()), ..kube(121.0, "e", State::Ready) };
    pool.minute(&[by("lb1", told)], &[], 0);
    assert_eq!(pool.line.ready().unwrap().zones[2], zone(Some("eu-3"), Some(1), 0, 1));
}
