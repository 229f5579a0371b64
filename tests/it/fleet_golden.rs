//! The recorded run of a real HAProxy, and what is known of it by counting its lines by hand.

use std::collections::BTreeMap;

use quorate::{
    accesslog::{Context, Format, Line, Parser},
    domain::fleet::{
        cell::Window,
        settings::Settings,
        tally::{Role, SourceInfo, Tally},
        timeline::{Marks, ReadyPoint, Removal, Step, Timeline},
    },
};

const MINUTE: i64 = 60_000_000;

fn at(clock: &str) -> i64 {
    format!("2026-11-29T{clock}Z").parse::<jiff::Timestamp>().unwrap().as_microsecond()
}

/// Steps through the whole log, minute by minute.
fn run() -> (Timeline, Vec<ReadyPoint>, BTreeMap<(String, i64), Removal>) {
    let settings = Settings::default();
    let log = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/logs/haproxy_rfc5424.raw"));
    let log = log.unwrap();
    let context = Context { tz: jiff::tz::TimeZone::UTC, now_us: at("19:40:00") };
    let mut parser = Parser::new(Format::Haproxy, &context);
    let source = SourceInfo { id: 0, role: Role::Balancer, pool: String::new(), counts: true };
    let mut tally = Tally::new(&settings);
    let mut events = Vec::new();
    for line in log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match parser.line(line).unwrap() {
            Line::Request(record) => tally.add(&record, &source),
            Line::Event(event) => events.push(event),
            Line::Nothing => {}
        }
    }
    events.sort_by_key(|event| event.at_us);
    let mut windows: BTreeMap<i64, _> = tally
        .take_all()
        .into_iter()
        .filter(|taken| taken.pool == "app")
        .map(|taken| (taken.window.index, taken.window))
        .collect();
    let (first, last) = (*windows.keys().next().unwrap(), *windows.keys().last().unwrap());
    let mut line = Timeline::new("app", &settings);
    let (mut ready, mut removals) = (Vec::new(), BTreeMap::new());
    for index in first..=last {
        let window = windows.remove(&index).unwrap_or_else(|| Window::new(index));
        let within = |us: i64| us.div_euclid(MINUTE) == index;
        let now: Vec<_> = events.iter().filter(|event| within(event.at_us)).cloned().collect();
        let told = line.step(Step {
            until_us: (index + 1) * MINUTE,
            events: &now,
            window: &window,
            marks: &Marks::default(),
            sources: &[],
        });
        ready.extend(told.ready);
        for removal in told.removals {
            removals.insert((removal.instance.clone(), removal.removed_us), removal);
        }
    }
    (line, ready, removals)
}

#[test]
fn a_real_run_of_haproxy_gives_its_real_transitions() {
    let (line, ready, removals) = run();
    let transitions: Vec<(&str, u64)> =
        line.instances().iter().map(|(name, i)| (name.as_str(), i.transitions)).collect();
    assert_eq!(transitions, [("app/app1", 8), ("app/app2", 40), ("app/app3", 12)]);
    let unplanned = line.instances()["app/app3"].unplanned(at("19:40:00"), 3_600);
    assert_eq!(unplanned, 8, "drain and maintenance are apart");

    let zeros: Vec<i64> = ready.iter().filter(|p| p.ready == Some(0)).map(|p| p.at_us).collect();
    assert_eq!(zeros.len(), 4, "as often as no server was available");
    assert_eq!(zeros[0] / 1_000, at("19:34:01.955") / 1_000);
    let back = ready.iter().find(|p| p.ready == Some(3) && p.at_us > zeros[0]).unwrap();
    assert_eq!(back.at_us / 1_000, at("19:34:06.962") / 1_000);

    // Killed at 19:33:07: the first failed check is at 07.569, DOWN at 08.570.
    let killed = removals
        .values()
        .find(|removal| removal.removed_us / 1_000 == at("19:33:08.570") / 1_000)
        .unwrap();
    assert_eq!(
        (killed.instance.as_str(), killed.failed_us),
        ("app/app2", Some(at("19:33:07.569689")))
    );
    assert_eq!(killed.returned_us.unwrap() / 1_000, at("19:33:13.579") / 1_000);
    assert!(line.instances()["app/app2"].restarts.probable >= 1);
}
