use super::super::tests::world::World;
use super::super::tests::{F5, seats};
use super::*;
use crate::domain::maintenance::Switches;

/// What a simulated world reported, as it is stored.
fn stored(world: &World<'_>) -> Vec<Told> {
    let mut all: Vec<Told> = world
        .seen
        .iter()
        .map(|seen| Told {
            at: seen.at,
            received: seen.received,
            latency_ms: i32::try_from(seen.latency_ms).expect("a small number"),
            check_version: seen.check_version,
            location: seen.location,
            class: seen.class,
            status: seen.status,
            outcome: seen.outcome,
            kind: seen.kind,
            age_estimated: false,
            outdated: false,
            guessed: false,
        })
        .collect();
    all.sort_by_key(|told| (told.received, told.location, told.at));
    all
}

fn words(courses: &[Course]) -> Vec<(Millis, String)> {
    courses.iter().flat_map(|c| c.happenings.iter().map(|h| (h.at, h.word.clone()))).collect()
}

const UNTIL: Millis = 9_000_000;

/// A bad hour: an outage, one seen by two networks only, and one long enough for everything.
fn troubled(location: LocationKey, at: Millis) -> Option<bool> {
    let second = at / 1_000;
    let outage = (300..390).contains(&second) || (7_000..7_600).contains(&second);
    let some = (3_000..3_600).contains(&second) && location.0 < 2;
    let blip = location.0 == 2 && (5_000..5_050).contains(&second);
    Some(outage || some || blip)
}

fn world<'a>(policy: &'a Policy, seats: &'a [Seat]) -> World<'a> {
    let mut world = World::new(policy, seats);
    world.run(UNTIL, troubled);
    world
}

fn scene(seats: &[Seat]) -> Scene {
    Scene { seats: seats.to_vec(), ..Scene::default() }
}

#[test]
fn the_same_policy_comes_to_what_happened() {
    let policy = Policy::defaults(60_000, 10_000, 5);
    let seats = seats(&F5);
    let world = world(&policy, &seats);
    let courses = run(&policy, &scene(&seats), &stored(&world), UNTIL);
    assert_eq!(words(&courses), world.events);
    assert!(courses.len() >= 3, "{courses:?}");
    assert!(courses.iter().all(|c| c.happenings.iter().all(|h| !h.sentence.is_empty())));
}

#[test]
fn another_policy_comes_to_something_else() {
    let policy = Policy::defaults(60_000, 10_000, 5);
    let seats = seats(&F5);
    let world = world(&policy, &seats);
    let told = stored(&world);
    let count = |policy: &Policy| run(policy, &scene(&seats), &told, UNTIL).len();
    let usual = count(&policy);
    let any =
        Policy { quorum: crate::domain::monitor::Quorum::Any, fail_after: 1, ..policy.clone() };
    assert!(count(&any) > usual, "one failing attempt of one location is enough");
    let patient = Policy { confirm_for: 150_000, ..policy.clone() };
    let late = run(&patient, &scene(&seats), &told, UNTIL);
    let first = |courses: &[Course]| courses.first().map(|c| (c.started_at, c.opened_at));
    assert_eq!(late.iter().filter(|c| c.peak == Severity::Down).count(), 1, "{late:?}");
    let usual = run(&policy, &scene(&seats), &told, UNTIL);
    assert!(first(&late) > first(&usual));
}

#[test]
fn maintenance_keeps_it_silent_and_a_pause_ends_it() {
    let policy = Policy::defaults(60_000, 10_000, 5);
    let seats = seats(&F5);
    let world = world(&policy, &seats);
    let told = stored(&world);
    let window = Window { start: 250_000, end: 500_000, switches: Switches::default() };
    let quiet = Scene { windows: vec![window], ..scene(&seats) };
    let courses = run(&policy, &quiet, &told, UNTIL);
    assert!(courses[0].suppressed && courses[0].told == 0, "{courses:?}");
    let paused = Scene { pauses: vec![(7_100_000, 7_300_000)], ..scene(&seats) };
    let courses = run(&policy, &paused, &told, UNTIL);
    let all = words(&courses);
    assert!(all.contains(&(7_100_000, "resolved".to_owned())), "{all:?}");
    let again = all.iter().find(|(at, _)| *at >= 7_300_000).expect("still down after the pause");
    assert_eq!(again.1, "reopened:down", "{all:?}");
}

#[test]
fn who_was_withheld_does_not_count_and_may_be_counted_again() {
    let policy = Policy::defaults(60_000, 10_000, 5);
    let seats = seats(&F5);
    let world = world(&policy, &seats);
    let told = stored(&world);
    let held = |key| Withheld {
        location: LocationKey(key),
        from: 2_900_000,
        to: 3_900_000,
        standing: Standing::Quarantined,
    };
    let believed = Withheld { standing: Standing::Counted, ..held(0) };
    let partial = |scene: &Scene| {
        let courses = run(&policy, scene, &told, UNTIL);
        courses.iter().any(|c| (3_000_000..3_600_000).contains(&c.opened_at))
    };
    assert!(partial(&scene(&seats)));
    assert!(!partial(&Scene { withheld: vec![held(0), held(1)], ..scene(&seats) }));
    let by_hand = vec![believed, held(0), Withheld { standing: Standing::Counted, ..held(1) }];
    assert!(partial(&Scene { withheld: by_hand, ..scene(&seats) }), "what is said by hand wins");
    let alone = Withheld { standing: Standing::Divergent, ..held(0) };
    assert!(!partial(&Scene { withheld: vec![believed, alone], ..scene(&seats) }));
}

#[test]
fn nobody_looked_while_nobody_ran() {
    let stops = stops(&[(100_000, 400_000), (500_000, 600_000), (2_000_000, 2_100_000)], 150_000);
    let graces: Vec<_> = stops.iter().map(|stop| stop.grace_until).collect();
    assert_eq!(graces, [Some(550_000), Some(550_000), Some(2_250_000)], "once in ten minutes");
    let scene = Scene { stops, ..Scene::default() };
    assert_eq!((scene.awake(99_999), scene.awake(100_000)), (99_999, 400_000));
    assert_eq!((scene.grace(399_999), scene.grace(400_000)), (None, Some(550_000)));
}
