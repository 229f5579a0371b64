//! When a scheduled report is due: a cron expression in the report's own zone.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;

use super::Invalid;
use super::slo::window::zone;

/// The first time behind `after`. A time that a change of clocks leaves out comes right after the gap, and
/// one that it repeats comes once.
pub fn next(cron: &str, timezone: &str, after: Timestamp) -> Result<Timestamp, Invalid> {
    let zone = zone(timezone)?;
    let expression = parse(cron)?;
    let next = expression.find_next_occurrence(&after.to_zoned(zone), false);
    next.map(|at| at.timestamp())
        .map_err(|_| Invalid::given("cron", cron, "never comes: there is no such day"))
}

/// The first `many` times behind `after`.
pub fn upcoming(
    cron: &str,
    timezone: &str,
    after: Timestamp,
    many: usize,
) -> Result<Vec<Timestamp>, Invalid> {
    let mut times = Vec::with_capacity(many);
    let mut at = after;
    for _ in 0..many {
        at = next(cron, timezone, at)?;
        times.push(at);
    }
    Ok(times)
}

/// Five fields: minute, hour, day of the month, month, day of the week.
fn parse(cron: &str) -> Result<Cron, Invalid> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(cron).map_err(|error| {
        let why = format!(
            "is no cron expression ({error}); five fields are wanted, such as 0 8 4 * * for 08:00 on the 4th of each month"
        );
        Invalid::given("cron", cron, &why)
    })
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
