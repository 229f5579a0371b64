//! Windows (spec: slo 3.9): rolling, calendar in a zone, or fixed; and the civil days of a span.

use jiff::civil::Date;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Span, Timestamp, ToSpan};

use crate::domain::{Invalid, Millis};

pub const DAY: Millis = 86_400_000;

/// A period of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl Unit {
    /// As it is written: `1d 1w 1M 1Q 1Y`.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "1d" => Self::Day,
            "1w" => Self::Week,
            "1M" => Self::Month,
            "1Q" => Self::Quarter,
            "1Y" => Self::Year,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "1d",
            Self::Week => "1w",
            Self::Month => "1M",
            Self::Quarter => "1Q",
            Self::Year => "1Y",
        }
    }

    /// The length that factors of burn-rate rules are derived from, whatever the month.
    pub fn nominal(self) -> Millis {
        DAY * match self {
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 30,
            Self::Quarter => 90,
            Self::Year => 365,
        }
    }

    fn times(self, count: i64) -> Option<Span> {
        let span = Span::new();
        match self {
            Self::Day => span.try_days(count).ok(),
            Self::Week => span.try_weeks(count).ok(),
            Self::Month => span.try_months(count).ok(),
            Self::Quarter => span.try_months(count.checked_mul(3)?).ok(),
            Self::Year => span.try_years(count).ok(),
        }
    }

    /// Where the first period begins unless said otherwise: a Monday, the first of a January.
    pub fn anchor(self) -> Date {
        match self {
            Self::Week => jiff::civil::date(1970, 1, 5),
            _ => jiff::civil::date(1970, 1, 1),
        }
    }
}

/// What an SLO is judged over.
#[derive(Debug, Clone, PartialEq)]
pub enum Window {
    /// The last so many days, each of 24 hours.
    Rolling {
        days: u16,
    },
    /// The civil period that holds an instant. Periods are counted from `anchor`, each from there and not
    /// from the one before, so that the 31st does not wander.
    Calendar {
        unit: Unit,
        zone: TimeZone,
        anchor: Option<Date>,
    },
    /// One period of a calendar that somebody named by its bounds.
    Period {
        unit: Unit,
        bounds: Bounds,
    },
    Fixed {
        from: Millis,
        to: Millis,
    },
}

/// `[start, end)` of one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub start: Millis,
    pub end: Millis,
}

impl Bounds {
    pub fn length(&self) -> Millis {
        self.end - self.start
    }
}

impl Window {
    /// The window as it stands at the watermark: for a calendar the period that holds the last instant
    /// before it. None when it lies beyond the calendar.
    pub fn bounds(&self, watermark: Millis) -> Option<Bounds> {
        match self {
            Self::Rolling { days } => {
                Some(Bounds { start: watermark - i64::from(*days) * DAY, end: watermark })
            }
            Self::Period { bounds, .. } => Some(*bounds),
            Self::Fixed { from, to } => Some(Bounds { start: *from, end: *to }),
            Self::Calendar { unit, zone, anchor } => {
                period(*unit, zone, *anchor, watermark.checked_sub(1)?)
            }
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Self::Rolling { .. } => "rolling",
            Self::Calendar { .. } | Self::Period { .. } => "calendar",
            Self::Fixed { .. } => "fixed",
        }
    }

    /// As it is written: `30d`, `1M`; none when it is fixed.
    pub fn duration(&self) -> Option<String> {
        match self {
            Self::Rolling { days } => Some(format!("{days}d")),
            Self::Calendar { unit, .. } | Self::Period { unit, .. } => Some(unit.name().to_owned()),
            Self::Fixed { .. } => None,
        }
    }

    pub fn is_rolling(&self) -> bool {
        matches!(self, Self::Rolling { .. })
    }

    /// W of the burn-rate rules.
    pub fn nominal(&self) -> Millis {
        match self {
            Self::Rolling { days } => i64::from(*days) * DAY,
            Self::Calendar { unit, .. } | Self::Period { unit, .. } => unit.nominal(),
            Self::Fixed { from, to } => to - from,
        }
    }
}

/// A zone by its name, from the release of the zones that is compiled in: two machines agree, whatever
/// release their systems have.
pub fn zone(name: &str) -> Result<TimeZone, Invalid> {
    let data = tzdb_data::find_raw(name.as_bytes());
    let zone = data.and_then(|data| TimeZone::tzif(name, data).ok());
    zone.ok_or_else(|| {
        Invalid::given("timezone", name, "is no zone known here, such as Europe/Berlin or UTC")
    })
}

/// The release of the zones, such as 2026b.
pub fn zones_version() -> &'static str {
    tzdb_data::VERSION
}

/// The first instant of a civil day: the transition when midnight does not exist, the first of two
/// midnights.
pub fn first_instant(date: Date, zone: &TimeZone) -> Option<Millis> {
    let midnight = date.at(0, 0, 0, 0);
    let ambiguous = zone.to_ambiguous_timestamp(midnight);
    if matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. }) {
        // In a gap the day begins where the clock was put forward: the transition itself, which the
        // "compatible" reading misses when the gap begins before midnight.
        let after = ambiguous.later().ok()?;
        let before = after.checked_sub(24.hours()).ok()?;
        let transition = zone.following(before).next()?.timestamp();
        return Some(transition.as_millisecond());
    }
    Some(ambiguous.compatible().ok()?.as_millisecond())
}

/// The period of the calendar that holds an instant.
pub fn period(unit: Unit, zone: &TimeZone, anchor: Option<Date>, at: Millis) -> Option<Bounds> {
    let anchor = anchor.unwrap_or_else(|| unit.anchor());
    let today = Timestamp::from_millisecond(at).ok()?.to_zoned(zone.clone()).date();
    let start_of = |k: i64| {
        let date = anchor.checked_add(unit.times(k)?).ok()?;
        first_instant(date, zone)
    };
    let months = |date: Date| i64::from(date.year()) * 12 + i64::from(date.month());
    let days = i64::from((today - anchor).get_days());
    // Off by one at most, because days of the month and of the week are not looked at here.
    let near = match unit {
        Unit::Day => days,
        Unit::Week => days.div_euclid(7),
        Unit::Month => months(today) - months(anchor),
        Unit::Quarter => (months(today) - months(anchor)).div_euclid(3),
        Unit::Year => i64::from(today.year()) - i64::from(anchor.year()),
    };
    (near - 1..=near + 1).find_map(|k| {
        let bounds = Bounds { start: start_of(k)?, end: start_of(k + 1)? };
        (bounds.start <= at && at < bounds.end).then_some(bounds)
    })
}

/// A civil day, cut to the span it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    pub date: Date,
    pub from: Millis,
    pub to: Millis,
}

/// The civil days of a zone that `[from, to)` touches. A day that a zone left out has no entry.
pub fn days(zone: &TimeZone, from: Millis, to: Millis) -> Vec<Day> {
    let mut out = Vec::new();
    let Ok(first) = Timestamp::from_millisecond(from) else { return out };
    let mut date = first.to_zoned(zone.clone()).date();
    let mut at = from;
    while at < to {
        let Ok(next) = date.tomorrow() else { break };
        let Some(end) = first_instant(next, zone) else { break };
        let end = end.min(to);
        if at < end {
            out.push(Day { date, from: at, to: end });
            at = end;
        }
        date = next;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Millis {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    /// Start, end and hours of the period that holds an instant.
    fn of(unit: Unit, name: &str, instant: &str) -> (String, String, i64) {
        let bounds = period(unit, &zone(name).unwrap(), None, at(instant)).unwrap();
        let text = |at| Timestamp::from_millisecond(at).unwrap().to_string();
        (text(bounds.start), text(bounds.end), bounds.length() / 3_600_000)
    }

    fn expect(unit: Unit, name: &str, instant: &str, start: &str, end: &str, hours: i64) {
        assert_eq!(of(unit, name, instant), (start.into(), end.into(), hours), "{name} {instant}");
    }

    #[test]
    fn months_have_the_hours_that_their_zone_gives_them() {
        use Unit::Month;
        let check = expect;
        // 31 days less the hour of spring: 743; plus the hour of autumn: 745.
        check(
            Month,
            "Europe/Berlin",
            "2026-03-15T00:00:00Z",
            "2026-02-28T23:00:00Z",
            "2026-03-31T22:00:00Z",
            743,
        );
        check(
            Month,
            "Europe/Berlin",
            "2026-10-15T00:00:00Z",
            "2026-09-30T22:00:00Z",
            "2026-10-31T23:00:00Z",
            745,
        );
        // The day on which the clock goes forward is over an hour early: 00:00 on 1 October is not there.
        check(
            Month,
            "America/Asuncion",
            "2023-10-15T00:00:00Z",
            "2023-10-01T04:00:00Z",
            "2023-11-01T03:00:00Z",
            743,
        );
        // Two midnights on 1 November: the first is the beginning; 30 days and an hour.
        check(
            Month,
            "America/Havana",
            "2026-11-15T00:00:00Z",
            "2026-11-01T04:00:00Z",
            "2026-12-01T05:00:00Z",
            721,
        );
        // Half an hour of summer time: 31 days of 24 hours and a half, told as 744.
        check(
            Month,
            "Australia/Lord_Howe",
            "2026-04-10T00:00:00Z",
            "2026-03-31T13:00:00Z",
            "2026-04-30T13:30:00Z",
            720,
        );
        // February of a leap year, of a century that is one, and of one that is none.
        check(
            Month,
            "Asia/Kathmandu",
            "2028-02-10T00:00:00Z",
            "2028-01-31T18:15:00Z",
            "2028-02-29T18:15:00Z",
            29 * 24,
        );
        check(
            Month,
            "UTC",
            "2000-02-10T00:00:00Z",
            "2000-02-01T00:00:00Z",
            "2000-03-01T00:00:00Z",
            29 * 24,
        );
        check(
            Month,
            "UTC",
            "2100-02-10T00:00:00Z",
            "2100-02-01T00:00:00Z",
            "2100-03-01T00:00:00Z",
            28 * 24,
        );
        // The southern summer ends in April: 721 hours.
        check(
            Month,
            "Pacific/Auckland",
            "2026-04-20T00:00:00Z",
            "2026-03-31T11:00:00Z",
            "2026-04-30T12:00:00Z",
            721,
        );
    }

    #[test]
    fn other_units_follow_the_calendar_too() {
        use Unit::{Day, Quarter, Week, Year};
        expect(
            Day,
            "Europe/Berlin",
            "2026-03-29T12:00:00Z",
            "2026-03-28T23:00:00Z",
            "2026-03-29T22:00:00Z",
            23,
        );
        expect(
            Day,
            "America/New_York",
            "2026-11-01T12:00:00Z",
            "2026-11-01T04:00:00Z",
            "2026-11-02T05:00:00Z",
            25,
        );
        // Weeks begin on Mondays, whatever the year.
        expect(
            Week,
            "UTC",
            "2027-01-02T00:00:00Z",
            "2026-12-28T00:00:00Z",
            "2027-01-04T00:00:00Z",
            168,
        );
        expect(
            Week,
            "Europe/Berlin",
            "2026-03-25T00:00:00Z",
            "2026-03-22T23:00:00Z",
            "2026-03-29T22:00:00Z",
            167,
        );
        expect(
            Quarter,
            "Europe/London",
            "2026-05-05T00:00:00Z",
            "2026-03-31T23:00:00Z",
            "2026-06-30T23:00:00Z",
            91 * 24,
        );
        expect(
            Year,
            "UTC",
            "2028-12-31T23:59:59.999Z",
            "2028-01-01T00:00:00Z",
            "2029-01-01T00:00:00Z",
            366 * 24,
        );
        // Just before the epoch.
        expect(
            Week,
            "UTC",
            "1969-12-31T00:00:00Z",
            "1969-12-29T00:00:00Z",
            "1970-01-05T00:00:00Z",
            168,
        );
    }

    #[test]
    fn a_period_contains_its_start_and_not_its_end() {
        let berlin = zone("Europe/Berlin").unwrap();
        let month = |instant| period(Unit::Month, &berlin, None, at(instant)).unwrap();
        assert_eq!(month("2026-02-28T22:59:59.999Z").end, at("2026-02-28T23:00:00Z"));
        assert_eq!(month("2026-02-28T23:00:00Z").start, at("2026-02-28T23:00:00Z"));
    }

    #[test]
    fn months_from_an_anchor_are_clamped_and_do_not_wander() {
        let anchor = Some(jiff::civil::date(2026, 1, 31));
        let utc = TimeZone::UTC;
        let month = |instant| period(Unit::Month, &utc, anchor, at(instant)).unwrap();
        // January 31, February 28, March 31: not March 28.
        assert_eq!(month("2026-02-10T00:00:00Z").start, at("2026-01-31T00:00:00Z"));
        assert_eq!(month("2026-03-01T00:00:00Z").start, at("2026-02-28T00:00:00Z"));
        assert_eq!(month("2026-03-01T00:00:00Z").end, at("2026-03-31T00:00:00Z"));
        assert_eq!(month("2025-12-31T00:00:00Z").start, at("2025-12-31T00:00:00Z"));
    }

    #[test]
    fn a_day_that_was_left_out_does_not_exist() {
        // Samoa went from 29 to 31 December 2011.
        let apia = zone("Pacific/Apia").unwrap();
        let list = days(&apia, at("2011-12-29T10:00:00Z"), at("2012-01-01T10:00:00Z"));
        let dates: Vec<String> = list.iter().map(|day| day.date.to_string()).collect();
        assert_eq!(dates, ["2011-12-29", "2011-12-31", "2012-01-01"]);
        assert_eq!(list[0].to - list[0].from, DAY);
        assert_eq!(list[1].from, at("2011-12-30T10:00:00Z"));
    }

    #[test]
    fn a_gap_that_begins_before_midnight_starts_the_day_at_the_transition() {
        // Toronto, 30 March 1919: 23:30 became 00:30 of the 31st.
        let toronto = zone("America/Toronto").unwrap();
        let start = first_instant(jiff::civil::date(1919, 3, 31), &toronto).unwrap();
        assert_eq!(start, at("1919-03-31T04:30:00Z"));
    }

    #[test]
    fn days_are_cut_to_the_span() {
        let berlin = zone("Europe/Berlin").unwrap();
        let list = days(&berlin, at("2026-10-24T21:00:00Z"), at("2026-10-26T00:00:00Z"));
        let hours: Vec<i64> = list.iter().map(|day| (day.to - day.from) / 3_600_000).collect();
        assert_eq!(hours, [1, 25, 1]);
    }

    #[test]
    fn rolling_windows_are_days_of_24_hours() {
        let window = Window::Rolling { days: 30 };
        let bounds = window.bounds(at("2026-04-01T00:00:00Z")).unwrap();
        assert_eq!(bounds.start, at("2026-03-02T00:00:00Z"));
        assert_eq!(window.nominal(), 30 * DAY);
        assert!(zone("Mars/Olympus").is_err());
    }
}
