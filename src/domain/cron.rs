//! What a cron expression means, wherever the product takes one (scheduled reports, maintenance that comes
//! again): five fields, read by the clock of a zone.
//!
//! When clocks change, an expression that names its hours and minutes comes once a day all the same: a time
//! that is left out comes right after the gap, one that is repeated comes the first time. One with `*` in
//! its hours or minutes follows the clock, and comes in both of the repeated hours.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::{Timestamp, tz::TimeZone};

use super::Invalid;
use super::slo::window::zone;

/// An expression in its zone.
#[derive(Debug, Clone)]
pub struct Schedule {
    expression: Cron,
    zone: TimeZone,
}

impl Schedule {
    /// Minute, hour, day of the month, month, day of the week. The zone is told by its IANA name. Refusals
    /// name `cron` or `timezone`.
    pub fn parse(cron: &str, timezone: &str) -> Result<Self, Invalid> {
        let zone = zone(timezone)?;
        let parser =
            CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let expression = parser.parse(cron).map_err(|error| {
            let why = format!(
                "is no cron expression ({error}); five fields are wanted, such as 0 8 4 * * for 08:00 on the 4th of each month"
            );
            Invalid::given("cron", cron, &why)
        })?;
        Ok(Self { expression, zone })
    }

    /// The first time behind `after`; none when there is no such day.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let next = self.expression.find_next_occurrence(&after.to_zoned(self.zone.clone()), false);
        next.ok().map(|at| at.timestamp())
    }

    /// An instant by the clock of the zone, for people: `2026-03-29 03:00 CEST`.
    pub fn told(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M %Z").to_string()
    }
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
    let mut times = vec![next(cron, timezone, after)?];
    let schedule = Schedule::parse(cron, timezone)?;
    while times.len() < many
        && let Some(at) = times.last().and_then(|last| schedule.next(*last))
    {
        times.push(at);
    }
    Ok(times)
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
        for cron in ["", "0 8 * *", "0 0 8 4 * *", "61 8 4 * *", "soon", "0 8 30 2 *"] {
            assert_eq!(next(cron, "UTC", now).unwrap_err().field, "cron", "{cron}");
        }
        assert_eq!(next("0 8 4 * *", "Mars/Olympus", now).unwrap_err().field, "timezone");
    }
}
