use proptest::prelude::*;

use super::*;
use crate::domain::{certificate::THRESHOLDS, ids::LocationKey};

const DAY: SignedDuration = SignedDuration::from_hours(24);

fn start() -> Timestamp {
    "2026-06-01T00:00:00Z".parse().unwrap()
}

fn hours(hours: i64) -> Timestamp {
    start() + SignedDuration::from_hours(hours)
}

fn sight(location: i16, fingerprint: &str, ends_in_days: i64, last: Timestamp) -> Sight {
    Sight {
        location: LocationKey(location),
        address: Some("192.0.2.7".into()),
        fingerprint: fingerprint.into(),
        issuer: "CA".into(),
        not_after: start() + DAY * i32::try_from(ends_in_days).unwrap(),
        since: start(),
        last,
    }
}

/// What was told so far, and how the alarms stand; a look is an hour.
#[derive(Default)]
struct World {
    alarms: BTreeMap<String, Alarm>,
    told: Vec<Act>,
}

impl World {
    fn look(&mut self, sights: &[Sight], quiet: bool, now: Timestamp) -> Vec<Act> {
        let given = Given {
            sights,
            thresholds: &THRESHOLDS,
            alarms: &self.alarms,
            quiet,
            bare: false,
            now,
        };
        let acts = look(given);
        for act in &acts {
            match act {
                Act::Warn { fingerprint, threshold } => {
                    let end = sights.iter().filter(|s| s.fingerprint == *fingerprint);
                    let not_after = end.map(|s| s.not_after).min().unwrap();
                    let in_part = is_mixed(fingerprint, sights);
                    let alarm = Alarm { days: *threshold, not_after, in_part, open: true };
                    self.alarms.insert(fingerprint.clone(), alarm);
                }
                Act::InPart { fingerprint } => {
                    self.alarms.get_mut(fingerprint).unwrap().in_part = true;
                }
                Act::End { fingerprint, .. } => {
                    self.alarms.get_mut(fingerprint).unwrap().open = false;
                }
            }
        }
        self.told.extend(acts.clone());
        acts
    }
}

fn warn(fingerprint: &str, threshold: u16) -> Act {
    Act::Warn { fingerprint: fingerprint.into(), threshold }
}

#[test]
fn each_threshold_is_told_once_on_its_day() {
    let mut world = World::default();
    let mut days = Vec::new();
    for hour in 0..24 * 41 {
        let now = hours(hour);
        for act in world.look(&[sight(1, "a", 40, now), sight(2, "a", 40, now)], false, now) {
            days.push((act, days_left(start() + DAY * 40, now)));
        }
    }
    let expected: Vec<_> = THRESHOLDS.iter().map(|t| (warn("a", *t), i32::from(*t))).collect();
    assert_eq!(days, expected, "and nothing at its end, which fails the monitor itself");
}

#[test]
fn first_seen_late_it_is_told_at_the_tightest_alone() {
    let mut world = World::default();
    assert_eq!(world.look(&[sight(1, "a", 5, start())], false, start()), [warn("a", 7)]);
    assert_eq!(world.look(&[sight(1, "a", 5, hours(1))], false, hours(1)), []);
    // What has ended before it is seen first is the monitor's to tell.
    assert_eq!(World::default().look(&[sight(1, "b", -1, start())], false, start()), []);
}

#[test]
fn renewed_everywhere_it_is_over_and_a_return_is_told_at_a_tighter_threshold_only() {
    let mut world = World::default();
    world.look(&[sight(1, "a", 12, start())], false, start());
    let end = Act::End { fingerprint: "a".into(), how: End::Renewed };
    assert_eq!(world.look(&[sight(1, "b", 90, hours(1))], false, hours(1)), [end]);
    assert_eq!(world.look(&[sight(1, "a", 12, hours(2))], false, hours(2)), []);
    let later = hours(24 * 5);
    assert_eq!(world.look(&[sight(1, "a", 12, later)], false, later), [warn("a", 7)]);
}

#[test]
fn renewed_in_part_is_told_once_it_has_lasted() {
    let mut world = World::default();
    world.look(&[sight(1, "a", 12, start()), sight(2, "a", 12, start())], false, start());
    let mixed = |minutes: i64| {
        let now = start() + SignedDuration::from_mins(minutes);
        let newer = Sight { since: hours(1), ..sight(2, "b", 90, now) };
        (vec![sight(1, "a", 12, now), newer], now)
    };
    for minutes in [60, 70, 89] {
        let (sights, now) = mixed(minutes);
        assert_eq!(world.look(&sights, false, now), [], "{minutes}");
    }
    let (sights, now) = mixed(90);
    assert_eq!(world.look(&sights, false, now), [Act::InPart { fingerprint: "a".into() }]);
    let (sights, now) = mixed(120);
    assert_eq!(world.look(&sights, false, now), []);
    assert!(is_mixed("a", &sights) && !is_mixed("b", &sights));
    let end = Act::End { fingerprint: "a".into(), how: End::Renewed };
    assert_eq!(world.look(&[sights[1].clone()], false, now), [end]);
}

#[test]
fn what_takes_its_place_and_ends_sooner_is_no_renewal() {
    let mut world = World::default();
    world.look(&[sight(1, "a", 12, start())], false, start());
    let acts = world.look(&[sight(1, "b", 3, hours(1))], false, hours(1));
    assert_eq!(acts, [Act::End { fingerprint: "a".into(), how: End::Gone }, warn("b", 3)]);
}

#[test]
fn nothing_seen_ends_nothing_unless_nothing_is_there() {
    let mut world = World::default();
    world.look(&[sight(1, "a", 12, start())], false, start());
    assert_eq!(world.look(&[], false, hours(1)), []);
    let given = Given {
        sights: &[],
        thresholds: &THRESHOLDS,
        alarms: &world.alarms,
        quiet: false,
        bare: true,
        now: hours(1),
    };
    assert_eq!(look(given), [Act::End { fingerprint: "a".into(), how: End::Gone }]);
}

#[test]
fn in_maintenance_it_waits_and_is_told_at_the_tightest_afterwards() {
    let mut world = World::default();
    assert_eq!(world.look(&[sight(1, "a", 14, start())], true, start()), []);
    let later = hours(24 * 8);
    assert_eq!(world.look(&[sight(1, "a", 14, later)], false, later), [warn("a", 7)]);
    // An end is told in maintenance too: somebody may be waiting for it.
    let renewed = world.look(&[sight(1, "b", 90, later)], true, later);
    assert_eq!(renewed, [Act::End { fingerprint: "a".into(), how: End::Renewed }]);
}

#[test]
fn thresholds_that_were_tightened_end_the_alarm_and_then_tell_again() {
    let mut world = World::default();
    world.look(&[sight(1, "a", 12, start())], false, start());
    let sights = [sight(1, "a", 12, hours(1))];
    let given = |now| Given {
        sights: &sights,
        thresholds: &[7],
        alarms: &world.alarms,
        quiet: false,
        bare: false,
        now,
    };
    assert_eq!(look(given(hours(1))), [Act::End { fingerprint: "a".into(), how: End::Later }]);
    assert_eq!(look(given(hours(24 * 5))), [warn("a", 7)]);
}

#[test]
fn the_next_look_is_when_the_next_threshold_is_reached() {
    let sights = [sight(1, "a", 40, start())];
    let untold = BTreeMap::new();
    let alarm = Alarm { days: 30, not_after: sights[0].not_after, in_part: false, open: true };
    let told = BTreeMap::from([("a".to_owned(), alarm)]);
    let given = |alarms, now| Given {
        sights: &sights,
        thresholds: &THRESHOLDS,
        alarms,
        quiet: false,
        bare: false,
        now,
    };
    let first = next(given(&untold, start())).unwrap();
    assert_eq!(days_left(sights[0].not_after, first), 30);
    let second = next(given(&told, first)).unwrap();
    assert_eq!(days_left(sights[0].not_after, second), 14);
}

/// Which certificate each of three locations is shown in an hour: ends after days, by number.
fn hours_of_sights() -> impl Strategy<Value = Vec<[usize; 3]>> {
    prop::collection::vec(prop::array::uniform3(0_usize..4), 1..80)
}

proptest! {
    /// Whatever is shown to whom: no threshold is told twice of a certificate, every one that is told is the
    /// tightest reached, and none of a certificate that nobody is shown.
    #[test]
    fn no_threshold_is_told_twice(steps in hours_of_sights(), ends in prop::array::uniform4(-2_i64..60), stride in 1_i64..30) {
        let mut world = World::default();
        for (step, shown) in steps.iter().enumerate() {
            let now = hours(i64::try_from(step).unwrap() * stride);
            let sights: Vec<Sight> = (1..).zip(shown)
                .map(|(location, which)| sight(location, &format!("c{which}"), ends[*which], now))
                .collect();
            let open_before: Vec<String> = world.alarms.iter()
                .filter(|(_, alarm)| alarm.open).map(|(name, _)| name.clone()).collect();
            for act in world.look(&sights, false, now) {
                match act {
                    Act::Warn { fingerprint, threshold } => {
                        let one = sights.iter().find(|s| s.fingerprint == fingerprint);
                        let left = days_left(one.unwrap().not_after, now);
                        let tightest = THRESHOLDS.iter().filter(|t| left <= i32::from(**t)).min();
                        prop_assert_eq!(tightest, Some(&threshold));
                        prop_assert!(left >= 0);
                    }
                    Act::InPart { fingerprint } => prop_assert!(is_mixed(&fingerprint, &sights)),
                    Act::End { fingerprint, .. } => prop_assert!(open_before.contains(&fingerprint)),
                }
            }
        }
        let warned: Vec<_> =
            world.told.iter().filter(|act| matches!(act, Act::Warn { .. })).collect();
        for (i, act) in warned.iter().enumerate() {
            prop_assert!(!warned[..i].contains(act), "{:?} twice", act);
        }
    }
}
