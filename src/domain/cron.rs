//! What a cron expression means, wherever the product takes one (scheduled reports, maintenance that comes
//! again): five fields, read by the clock of a zone.
//!
//! When clocks change, an expression that names its hours and minutes (`30 2 * * *`, `0 2,14 * * *`) comes at
//! each of them all the same: a time that is left out comes right after the gap, one that is repeated comes
//! the first time. One with `*` or a step in them (`30 * * * *`) follows the clock: it leaves out what the
//! clock leaves out, and comes in both of the repeated hours.

use std::collections::BTreeSet;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::{Timestamp, tz::TimeZone};

use super::Invalid;
use super::slo::window::zone;

/// An expression in its zone.
#[derive(Debug, Clone)]
pub struct Schedule {
    whole: Cron,
    /// The same for each time of day that is named: the parser keeps the promise about changes of clocks for a
    /// single time of day alone. Empty when it follows the clock.
    times: Vec<Cron>,
    zone: TimeZone,
}

/// All minutes, named one by one, and some more.
const LONGEST: usize = 400;

/// Expressions with more times of day than this follow the clock.
const MOST_TIMES: usize = 96;

impl Schedule {
    /// Minute, hour, day of the month, month, day of the week. The zone is told by its IANA name. Refusals
    /// name `cron` or `timezone`.
    pub fn parse(cron: &str, timezone: &str) -> Result<Self, Invalid> {
        let zone = zone(timezone)?;
        if cron.len() > LONGEST {
            let why = format!("is longer than {LONGEST} characters");
            return Err(Invalid::given("cron", cron, &why));
        }
        let parser =
            CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let read = |text: &str| {
            parser.parse(text).map_err(|error| {
                let why = format!(
                    "is no cron expression ({error}); five fields are wanted, such as 0 8 4 * * for 08:00 on the 4th of each month"
                );
                Invalid::given("cron", cron, &why)
            })
        };
        let whole = read(cron)?;
        let times = times_of_day(cron).unwrap_or_default();
        let times = times.iter().map(|time| read(time)).collect::<Result<_, _>>()?;
        Ok(Self { whole, times, zone })
    }

    /// The first time behind `after`; none when there is no such day.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        self.after(after).next()
    }

    /// All times behind `after`, one after the other. There may be no end to them.
    pub fn after(&self, after: Timestamp) -> impl Iterator<Item = Timestamp> + '_ {
        let find = |expression: &Cron, after: Timestamp| {
            let next = expression.find_next_occurrence(&after.to_zoned(self.zone.clone()), false);
            next.ok().map(|at| at.timestamp())
        };
        let expressions = match self.times.as_slice() {
            [] => std::slice::from_ref(&self.whole),
            // That there is no such day takes long to find out, and is found out once.
            _ if find(&self.whole, after).is_none() => &[],
            times => times,
        };
        let mut next: Vec<_> = expressions.iter().map(|one| find(one, after)).collect();
        std::iter::from_fn(move || {
            let at = next.iter().flatten().min().copied()?;
            for (next, expression) in next.iter_mut().zip(expressions) {
                if *next == Some(at) {
                    *next = find(expression, at);
                }
            }
            Some(at)
        })
    }

    /// An instant by the clock of the zone, for people: `2026-03-29 03:00 CEST`.
    pub fn told(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M %Z").to_string()
    }
}

/// An expression that names its minutes and hours as one for each time of day.
fn times_of_day(cron: &str) -> Option<Vec<String>> {
    let (minutes, rest) = cron.trim().split_once(char::is_whitespace)?;
    let (hours, days) = rest.trim_start().split_once(char::is_whitespace)?;
    let (minutes, hours) = (numbers(minutes)?, numbers(hours)?);
    let times = hours.iter().flat_map(|hour| minutes.iter().map(move |minute| (minute, hour)));
    (minutes.len() * hours.len() <= MOST_TIMES)
        .then(|| times.map(|(minute, hour)| format!("{minute} {hour} {days}")).collect())
}

/// `1`, `1,15`, `1-5`; none for anything else. The parser has seen that they are within bounds.
fn numbers(field: &str) -> Option<BTreeSet<u8>> {
    let mut all = BTreeSet::new();
    for part in field.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (u8, u8) = (from.parse().ok()?, to.parse().ok()?);
        if from > to {
            return None;
        }
        all.extend(from..=to);
    }
    Some(all)
}

/// The first time behind `after`.
pub fn next(cron: &str, timezone: &str, after: Timestamp) -> Result<Timestamp, Invalid> {
    Schedule::parse(cron, timezone)?
        .next(after)
        .ok_or_else(|| Invalid::given("cron", cron, "never comes: there is no such day"))
}

/// The first `many` times behind `after`.
pub fn upcoming(
    cron: &str,
    timezone: &str,
    after: Timestamp,
    many: usize,
) -> Result<Vec<Timestamp>, Invalid> {
    let first = next(cron, timezone, after)?;
    let more = Schedule::parse(cron, timezone)?.after(first).take(many.saturating_sub(1)).collect();
    Ok([vec![first], more].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next_of(cron: &str, zone: &str, after: &str) -> String {
        next(cron, zone, after.parse().unwrap()).unwrap().to_string()
    }

    #[test]
    fn it_is_due_by_the_clock_of_its_zone() {
        let monthly = "0 8 4 * *";
        assert_eq!(
            next_of(monthly, "Europe/Berlin", "2026-10-04T06:00:00Z"),
            "2026-11-04T07:00:00Z",
            "summer time is over"
        );
        assert_eq!(next_of(monthly, "UTC", "2026-10-04T07:59:59Z"), "2026-10-04T08:00:00Z");
        // 02:30 does not exist on the day on which clocks go forward, and comes once when they go back.
        assert_eq!(
            next_of("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z"),
            "2026-03-29T01:00:00Z"
        );
        let first = next_of("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z");
        assert_eq!(first, "2026-10-25T00:30:00Z");
        assert_eq!(next_of("30 2 * * *", "Europe/Berlin", &first), "2026-10-26T01:30:00Z");
    }

    #[test]
    fn several_named_times_each_come_when_clocks_change() {
        let ahead = |cron: &str, after: &str, many| -> Vec<String> {
            let times = upcoming(cron, "Europe/Berlin", after.parse().unwrap(), many).unwrap();
            times.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            ahead("0,30 0-2 * * *", "2026-03-28T23:00:00Z", 5),
            [
                "2026-03-28T23:30:00Z",
                "2026-03-29T00:00:00Z",
                "2026-03-29T00:30:00Z",
                "2026-03-29T01:00:00Z",
                "2026-03-29T22:00:00Z"
            ],
            "02:00 and 02:30 both come at 03:00, which is one time"
        );
        assert_eq!(
            ahead("0 2,14 * * *", "2026-10-24T13:00:00Z", 3),
            ["2026-10-25T00:00:00Z", "2026-10-25T13:00:00Z", "2026-10-26T01:00:00Z"]
        );
        assert_eq!(
            ahead("0-59 0-23 * * *", "2026-10-24T13:00:00Z", 1),
            ["2026-10-24T13:01:00Z"],
            "too many to be named"
        );
    }

    #[test]
    fn what_follows_the_clock_comes_in_both_repeated_hours() {
        let half = "30 * * * *";
        let first = next_of(half, "Europe/Berlin", "2026-10-25T00:00:00Z");
        assert_eq!(first, "2026-10-25T00:30:00Z");
        assert_eq!(next_of(half, "Europe/Berlin", &first), "2026-10-25T01:30:00Z");
        assert_eq!(next_of(half, "Europe/Berlin", "2026-03-29T00:30:00Z"), "2026-03-29T01:30:00Z");
    }

    #[test]
    fn the_next_times_follow_each_other() {
        let after = "2026-01-30T00:00:00Z".parse().unwrap();
        let times = upcoming("0 8 31 * *", "Europe/Berlin", after, 3).unwrap();
        let times: Vec<String> = times.iter().map(ToString::to_string).collect();
        assert_eq!(
            times,
            ["2026-01-31T07:00:00Z", "2026-03-31T06:00:00Z", "2026-05-31T06:00:00Z"],
            "months without a 31st have none"
        );
        assert_eq!(upcoming("soon", "UTC", after, 3).unwrap_err().field, "cron");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let now = Timestamp::UNIX_EPOCH;
        for cron in
            ["", "0 8 * *", "0 0 8 4 * *", "61 8 4 * *", "soon", "0 8 30 2 *", "0-30 0-2 30 2 *"]
        {
            assert_eq!(next(cron, "UTC", now).unwrap_err().field, "cron", "{cron}");
        }
        let endless = format!("{} 2 * * *", vec!["1"; 400].join(","));
        assert!(next(&endless, "UTC", now).unwrap_err().message.contains("longer than 400"));
        assert_eq!(next("0 8 4 * *", "Mars/Olympus", now).unwrap_err().field, "timezone");
    }
}
