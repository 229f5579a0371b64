//! Occurrences against a walk over every minute of the civil calendar, in zones whose clocks change at
//! midnight, by half an hour, and as usual.

use jiff::{
    SignedDuration, Timestamp,
    civil::{DateTime, date},
    tz::{AmbiguousOffset, TimeZone},
};
use proptest::prelude::*;

use super::*;
use crate::domain::slo::window::zone;

/// Zones, and a stretch of some weeks around each change of clocks in a year that is worth a look.
const CHANGES: &[(&str, i16, i8)] = &[
    ("Europe/Berlin", 2026, 3),
    ("Europe/Berlin", 2026, 10),
    // Forward at midnight: there is no 00:30 on that day; back at midnight: 23:30 comes twice.
    ("America/Sao_Paulo", 2018, 11),
    ("America/Sao_Paulo", 2018, 2),
    ("America/Sao_Paulo", 2019, 2),
    // By half an hour.
    ("Australia/Lord_Howe", 2026, 10),
    ("Australia/Lord_Howe", 2026, 4),
    ("UTC", 2026, 3),
];

/// An expression of fixed times, as numbers: which minutes and hours, on which days.
#[derive(Debug, Clone)]
struct Fixed {
    minute: i8,
    hours: Vec<i8>,
    /// Days of the week, Sunday 0; empty for all.
    weekdays: Vec<i8>,
}

impl Fixed {
    fn cron(&self) -> String {
        let list = |of: &[i8]| {
            let words: Vec<String> = of.iter().map(i8::to_string).collect();
            if words.is_empty() { "*".to_owned() } else { words.join(",") }
        };
        format!("{} {} * * {}", self.minute, list(&self.hours), list(&self.weekdays))
    }

    fn names(&self, at: DateTime) -> bool {
        let weekday = at.weekday().to_sunday_zero_offset();
        at.minute() == self.minute
            && self.hours.contains(&at.hour())
            && (self.weekdays.is_empty() || self.weekdays.contains(&weekday))
    }

    /// Each civil minute that is named, as the instant at which it comes: the first of two, and the end of
    /// the gap for one that there is not.
    fn walk(&self, zone: &TimeZone, from: DateTime, to: DateTime) -> Vec<Timestamp> {
        let mut starts = Vec::new();
        let mut at = from;
        while at < to {
            if self.names(at) {
                starts.push(instant(zone, at));
            }
            at = at.checked_add(SignedDuration::from_mins(1)).unwrap();
        }
        starts.sort();
        starts.dedup();
        starts
    }
}

fn instant(zone: &TimeZone, at: DateTime) -> Timestamp {
    let mut probe = at;
    loop {
        let ambiguous = zone.to_ambiguous_timestamp(probe);
        match ambiguous.offset() {
            AmbiguousOffset::Gap { .. } => {
                probe = probe.checked_add(SignedDuration::from_mins(1)).unwrap();
            }
            _ => return ambiguous.earlier().unwrap(),
        }
    }
}

fn fixed() -> impl Strategy<Value = Fixed> {
    let minute = prop_oneof![Just(0), Just(30), 0i8..60];
    let hours = prop::collection::btree_set(prop_oneof![0i8..4, 0i8..24, Just(23)], 1..3);
    let weekdays = prop::collection::btree_set(0i8..7, 0..3);
    (minute, hours, weekdays).prop_map(|(minute, hours, weekdays)| Fixed {
        minute,
        hours: hours.into_iter().collect(),
        weekdays: weekdays.into_iter().collect(),
    })
}

proptest! {
    #[test]
    fn occurrences_are_what_a_walk_over_the_calendar_finds(
        fixed in fixed(),
        which in 0..CHANGES.len(),
        duration_s in 60i64..90_000,
    ) {
        let (name, year, month) = CHANGES[which];
        let zone = zone(name).unwrap();
        let from = date(year, month, 1).at(12, 0, 0, 0);
        let to = from.checked_add(SignedDuration::from_hours(35 * 24)).unwrap();
        let (first, last) = (instant(&zone, from), instant(&zone, to));
        let plan = Plan::parse(&fixed.cron(), name, duration_s, Some(last)).unwrap();
        let just_before = first - SignedDuration::from_secs(1);
        let found: Vec<Occurrence> = plan.all(just_before).collect();
        let starts: Vec<Timestamp> = found.iter().map(|o| o.start).collect();
        prop_assert_eq!(starts, fixed.walk(&zone, from, to), "{} {}", name, fixed.cron());
        for occurrence in &found {
            let lasts = occurrence.end.duration_since(occurrence.start);
            prop_assert_eq!(lasts, SignedDuration::from_secs(duration_s));
            prop_assert!(plan.comes_at(occurrence.start));
            prop_assert!(!plan.comes_at(occurrence.start + SignedDuration::from_secs(60 * 7)) ||
                starts_at(&found, occurrence.start + SignedDuration::from_secs(60 * 7)));
        }
        // Wherever one begins to look, the next one is the same.
        for pair in found.windows(2) {
            let middle = pair[0].start + pair[1].start.duration_since(pair[0].start) / 2;
            prop_assert_eq!(plan.next(middle), Some(pair[1]));
            prop_assert_eq!(plan.next(pair[0].start), Some(pair[1]));
        }
    }

    #[test]
    fn what_follows_the_clock_is_what_a_walk_over_every_minute_finds(
        minute in 0i8..60,
        step in prop_oneof![Just(1i8), Just(2), Just(3), Just(6)],
        which in 0..CHANGES.len(),
    ) {
        let (name, year, month) = CHANGES[which];
        let zone = zone(name).unwrap();
        let first = instant(&zone, date(year, month, 1).at(12, 0, 0, 0));
        let minutes = (0..35 * 24 * 60).map(|n| first + SignedDuration::from_mins(n));
        let named = |at: &Timestamp| {
            let clock = at.to_zoned(zone.clone());
            clock.minute() == minute && clock.hour() % step == 0
        };
        let walked: Vec<Timestamp> = minutes.filter(named).collect();
        let until = first + SignedDuration::from_hours(35 * 24);
        let cron = format!("{minute} */{step} * * *");
        let plan = Plan::parse(&cron, name, 60, Some(until)).unwrap();
        let starts: Vec<Timestamp> =
            plan.all(first - SignedDuration::from_secs(1)).map(|o| o.start).collect();
        prop_assert_eq!(starts, walked, "{} {}", name, cron);
    }

    #[test]
    fn what_is_accepted_never_overlaps_itself(
        fixed in fixed(),
        which in 0..CHANGES.len(),
        duration_s in 60i64..90_000,
    ) {
        let (name, year, month) = CHANGES[which];
        let now = instant(&zone(name).unwrap(), date(year, month, 1).at(0, 0, 0, 0));
        let plan = Plan::parse(&fixed.cron(), name, duration_s, None).unwrap();
        let year = now + SignedDuration::from_hours(365 * 24);
        let all: Vec<Occurrence> = plan.all(now).take_while(|o| o.start < year).collect();
        let apart = all.windows(2).all(|pair| pair[0].end <= pair[1].start);
        match plan.check(now) {
            Ok(()) => prop_assert!(apart),
            Err(refused) => {
                prop_assert_eq!(refused.field, "duration_s");
                let later = now + LOOKED_AHEAD;
                let all: Vec<Occurrence> = plan.all(now).take_while(|o| o.start < later).collect();
                prop_assert!(all.windows(2).any(|pair| pair[0].end > pair[1].start));
            }
        }
    }
}

fn starts_at(found: &[Occurrence], at: Timestamp) -> bool {
    found.iter().any(|occurrence| occurrence.start == at)
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn two_hours_are_two_hours_when_clocks_change() {
    let plan = Plan::parse("30 1 * * *", "Europe/Berlin", 7_200, None).unwrap();
    let spring = plan.next(at("2026-03-28T12:00:00Z")).unwrap();
    assert_eq!(
        (spring.start, spring.end),
        (at("2026-03-29T00:30:00Z"), at("2026-03-29T02:30:00Z")),
        "until 04:30 by the clock"
    );
    let autumn = plan.next(at("2026-10-24T12:00:00Z")).unwrap();
    assert_eq!(autumn.end, at("2026-10-25T01:30:00Z"), "until 02:30, the second one");
}

#[test]
fn what_would_overlap_on_one_day_of_the_year_is_refused_by_name() {
    // Clocks go forward: from 02:00 to 02:00 on the next day are 23 hours.
    let now = at("2026-11-30T12:00:00Z");
    let plan = |duration| Plan::parse("0 2 * * *", "Europe/Berlin", duration, None).unwrap();
    let refused = plan(86_400).check(now).unwrap_err();
    assert_eq!(refused.field, "duration_s");
    assert!(refused.message.contains("2027-03-2"), "{refused}");
    plan(82_800).check(now).unwrap();
    // Every day, all day, where clocks never change: one after the other.
    Plan::parse("0 2 * * *", "UTC", 86_400, None).unwrap().check(now).unwrap();
}

#[test]
fn what_cannot_be_is_refused() {
    let now = at("2026-11-30T12:00:00Z");
    let field = |cron: &str, duration, until: Option<&str>| {
        let plan = Plan::parse(cron, "UTC", duration, until.map(at));
        plan.and_then(|plan| plan.check(now)).unwrap_err().field
    };
    assert_eq!(field("*/30 * * * *", 60, None), "cron");
    assert_eq!(field("0 0 30 2 *", 60, None), "cron");
    assert_eq!(field("0 2 * * *", 59, None), "duration_s");
    assert_eq!(field("0 2 * * *", 32 * 86_400, None), "duration_s");
    assert_eq!(field("0 2 * * *", 60, Some("2026-12-01T02:00:00Z")), "until");
    Plan::parse("0 * * * *", "Europe/Berlin", 3_600, None).unwrap().check(now).unwrap();
}

#[test]
fn it_leaves_out_what_is_skipped_and_ends() {
    let until = Some(at("2026-12-04T02:00:00Z"));
    let plan = Plan::parse("0 2 * * *", "UTC", 3_600, until).unwrap();
    let plan = plan.without([at("2026-12-02T02:00:00Z")]);
    let all: Vec<(String, bool)> = plan
        .all(at("2026-12-01T00:00:00Z"))
        .map(|o| (o.start.strftime("%d").to_string(), o.skipped))
        .collect();
    let expected = [("01", false), ("02", true), ("03", false)];
    assert_eq!(all, expected.map(|(day, skipped)| (day.to_owned(), skipped)));
    assert_eq!(plan.next(at("2026-12-01T02:00:00Z")).unwrap().start, at("2026-12-03T02:00:00Z"));
    assert_eq!(plan.next(at("2026-12-03T02:00:00Z")), None);
    assert!(plan.comes_at(at("2026-12-02T02:00:00Z")));
    assert!(!plan.comes_at(at("2026-12-02T02:01:00Z")));
}
