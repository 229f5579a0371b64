//! Times, shares and names as they are shown.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::cli::term::thousands;
use crate::domain::fleet::finding::{Finding, Kind, Scope};

/// How moments are shown: in one zone, with the date where it is not today's or they span days.
#[derive(Debug, Clone)]
pub(super) struct Times {
    zone: TimeZone,
    dated: bool,
}

impl Times {
    pub(super) fn new(zone: TimeZone, span: Option<(i64, i64)>, now_us: i64) -> Self {
        let day = |us| zoned(us, &zone).map(|at| at.date());
        let dated = span.is_some_and(|(from, to)| {
            let today = day(now_us);
            day(from) != today || day(to) != today
        });
        Self { zone, dated }
    }

    /// `14:20 – 14:35 CET`, with the date if it is not today.
    pub(super) fn span(&self, (from, to): (i64, i64)) -> String {
        let (Some(from), Some(to)) = (zoned(from, &self.zone), zoned(to, &self.zone)) else {
            return String::new();
        };
        let zone = to.strftime("%Z");
        match (self.dated, from.date() == to.date()) {
            (false, _) => format!("{} – {} {zone}", from.strftime("%H:%M"), to.strftime("%H:%M")),
            (true, true) => format!(
                "{}, {} – {} {zone}",
                from.strftime("%a %-d %b %Y"),
                from.strftime("%H:%M"),
                to.strftime("%H:%M")
            ),
            (true, false) => format!(
                "{} – {} {zone}",
                from.strftime("%a %-d %b %Y %H:%M"),
                to.strftime("%a %-d %b %Y %H:%M")
            ),
        }
    }

    /// `14:28`.
    pub(super) fn minute(&self, us: i64) -> String {
        zoned(us, &self.zone).map(|at| at.strftime("%H:%M").to_string()).unwrap_or_default()
    }

    /// `30 Nov`.
    pub(super) fn day(&self, us: i64) -> String {
        zoned(us, &self.zone).map(|at| at.strftime("%-d %b").to_string()).unwrap_or_default()
    }

    /// `14:28:02`.
    pub(super) fn second(&self, us: i64) -> String {
        zoned(us, &self.zone).map(|at| at.strftime("%H:%M:%S").to_string()).unwrap_or_default()
    }

    /// When a finding held: `14:28:02 – 14:33:00.`, `At 14:28:02.`, or `Since 14:28:02.`.
    pub(super) fn stretch(&self, finding: &Finding) -> String {
        let from = self.second(finding.from_us);
        match finding.to_us.map(|to| self.second(to)) {
            None => format!("Since {from}."),
            Some(to) if to == from => format!("At {from}."),
            Some(to) => format!("{from} – {to}."),
        }
    }
}

fn zoned(us: i64, zone: &TimeZone) -> Option<Zoned> {
    Timestamp::from_microsecond(us).ok().map(|at| at.to_zoned(zone.clone()))
}

/// A share of 0 to 1: `19.3 %`, `0.04 %` where one place would hide it.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.1 {
        format!("{percent:.2}\u{a0}%")
    } else {
        format!("{percent:.1}\u{a0}%")
    }
}

/// A share of time that went well, cut off and never rounded up: `99.9 %` of 0.9999.
pub(super) fn floored(share: f64) -> String {
    // A share such as 0.975 is a little less as a double.
    format!("{:.1}\u{a0}%", (share * 1_000.0 + 1e-6).floor() / 10.0)
}

/// µs as `64 ms`, `0.4 ms`, `12.3 s`.
pub(super) fn latency(us: u32) -> String {
    let ms = f64::from(us) / 1_000.0;
    match ms {
        ms if ms < 1.0 => format!("{ms:.1}\u{a0}ms"),
        ms if ms < 9_999.5 => format!("{}\u{a0}ms", thousands(ms.round() as u64)),
        ms => format!("{:.1}\u{a0}s", ms / 1_000.0),
    }
}

/// Seconds as `11 s`, `1.19 s`, `4 min 42 s`, `2 h 5 min`.
pub(super) fn span(us: i64) -> String {
    let seconds = us as f64 / 1e6;
    let whole = seconds.round() as i64;
    match whole {
        whole if whole < 10 && us % 1_000_000 != 0 => format!("{seconds:.2}\u{a0}s"),
        whole if whole < 120 => format!("{whole}\u{a0}s"),
        whole if whole < 7_200 => with_rest(whole / 60, "min", whole % 60, "s"),
        whole if whole < 172_800 => with_rest(whole / 3_600, "h", whole % 3_600 / 60, "min"),
        _ => with_rest(whole / 86_400, "days", whole % 86_400 / 3_600, "h"),
    }
}

fn with_rest(big: i64, unit: &str, rest: i64, small: &str) -> String {
    if rest == 0 {
        return format!("{big}\u{a0}{unit}");
    }
    format!("{big}\u{a0}{unit} {rest}\u{a0}{small}")
}

/// What a finding is called in the list.
pub(super) fn kind_label(finding: &Finding) -> &'static str {
    match (finding.scope, finding.kind) {
        (Scope::Shared, _) => "shared",
        (Scope::Differs, _) => "one of two",
        (_, Kind::BlackHole) => "black hole",
        (_, Kind::Blank) => "blank pages",
        (_, Kind::FewReady) => "too few ready",
        (_, Kind::LeftRotation) => "left rotation",
        (_, Kind::ReturnedTogether) => "back at once",
        (_, Kind::Restart) => "restart",
        (_, Kind::Flapping) => "flapping",
        (_, Kind::Zombie) => "zombie",
        (_, Kind::StaleVersion) => "old version",
        (_, Kind::NoData) => "no data",
        (_, Kind::Contradiction) => "gray failure",
        (_, Kind::SlowRemoval) => "slow removal",
        (Scope::Group, _) => "several",
        (_, Kind::Latency) => "slow instance",
        (_, Kind::CodeMix) => "other codes",
        (_, Kind::Errors) => "one instance",
    }
}

/// The first letter in capitals.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_places_that_they_need() {
        assert_eq!(percent(0.193), "19.3\u{a0}%");
        assert_eq!(percent(0.0004), "0.04\u{a0}%");
        assert_eq!(percent(0.0), "0.0\u{a0}%");
        assert_eq!(floored(0.99999), "99.9\u{a0}%");
        assert_eq!(floored(0.975), "97.5\u{a0}%");
        assert_eq!(floored(1.0), "100.0\u{a0}%");
        assert_eq!(latency(64_000), "64\u{a0}ms");
        assert_eq!(latency(400), "0.4\u{a0}ms");
        assert_eq!(latency(1_310_000), "1,310\u{a0}ms");
        assert_eq!(latency(30_000_000), "30.0\u{a0}s");
        assert_eq!(span(1_191_000), "1.19\u{a0}s");
        assert_eq!(span(11_000_000), "11\u{a0}s");
        assert_eq!(span(282_000_000), "4\u{a0}min 42\u{a0}s");
        assert_eq!(span(7_500_000_000), "2\u{a0}h 5\u{a0}min");
    }

    #[test]
    fn dates_stand_where_today_would_be_wrong() {
        let day = 86_400_000_000;
        let at = |now| Times::new(TimeZone::UTC, Some((20 * day, 20 * day + 60_000_000)), now);
        assert_eq!(at(20 * day).span((20 * day, 20 * day + 60_000_000)), "00:00 – 00:01 UTC");
        assert_eq!(
            at(22 * day).span((20 * day, 20 * day + 60_000_000)),
            "Wed 21 Jan 1970, 00:00 – 00:01 UTC"
        );
        assert_eq!(
            at(22 * day).span((20 * day, 21 * day)),
            "Wed 21 Jan 1970 00:00 – Thu 22 Jan 1970 00:00 UTC"
        );
    }
}
