//! Figures, lengths and instants in words, the same in every document and at the terminal.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::domain::Millis;
use crate::domain::slo::ratio::Ratio;
use crate::domain::slo::report::Report;
use crate::domain::slo::window::zone;

/// No-break space, between a number and its unit.
pub const NBSP: char = '\u{a0}';

/// What is not known.
pub const NONE: &str = "–";

/// Percent with three decimals, cut off; the exact share stands in the report.
pub fn percent(ratio: Option<f64>) -> String {
    const PARTS: f64 = 1e12;
    let Some(ratio) = ratio else { return NONE.to_owned() };
    let mut parts = (ratio.abs() * PARTS).round() as u128;
    if ratio < 1.0 {
        parts = parts.min(PARTS as u128 - 1); // less than all of it is never told as all of it
    }
    let sign = if ratio < 0.0 { "-" } else { "" };
    let text = Ratio::new(parts, PARTS as u128).percent(3).unwrap_or_default();
    format!("{sign}{text}{NBSP}%")
}

/// A percentage of the report, which is cut off already.
pub fn pct(text: Option<&String>) -> String {
    text.map_or_else(|| NONE.to_owned(), |pct| format!("{pct}{NBSP}%"))
}

/// A share that somebody set, with the digits that it needs: `90 %`.
pub fn plain_percent(share: f64) -> String {
    let text = format!("{:.6}", share * 100.0);
    format!("{}{NBSP}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A share of a length in percent, cut off.
pub fn share(part: Millis, whole: Millis) -> String {
    let of = |length: Millis| u128::try_from(length).unwrap_or(0);
    let text = Ratio::new(of(part), of(whole)).percent(3);
    pct(text.as_ref())
}

/// `743 h`, `44 min 34.8 s`: everything down to the millisecond.
pub fn exact(length: Millis) -> String {
    let (seconds, millis) = (length / 1_000, length % 1_000);
    let mut parts = Vec::new();
    for (number, unit) in [(seconds / 3_600, "h"), (seconds / 60 % 60, "min")] {
        if number > 0 {
            parts.push(format!("{number}{NBSP}{unit}"));
        }
    }
    let fraction = format!(".{millis:03}");
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    if seconds % 60 > 0 || millis > 0 || parts.is_empty() {
        parts.push(format!("{}{fraction}{NBSP}s", seconds % 60));
    }
    parts.join(" ")
}

/// The same, or a dash.
pub fn exact_or_none(length: Option<Millis>) -> String {
    length.map_or_else(|| NONE.to_owned(), exact)
}

/// A mean, to the second: its milliseconds say nothing. Below a minute to the tenth.
pub fn mean(length: Option<Millis>) -> String {
    match length {
        None => NONE.to_owned(),
        Some(length) if length < 60_000 => exact(length / 100 * 100),
        Some(length) if length < 86_400_000 => exact(length / 1_000 * 1_000),
        Some(length) => {
            let (days, rest) = (length / 86_400_000, length % 86_400_000 / 60_000 * 60_000);
            let rest = if rest > 0 { format!(" {}", exact(rest)) } else { String::new() };
            format!("{days}{NBSP}d{rest}")
        }
    }
}

/// `742:29:23`: hours, minutes, seconds; milliseconds where there are any, so that sums come out.
pub fn clock(length: Millis) -> String {
    let sign = if length < 0 { "−" } else { "" };
    let all = length.unsigned_abs();
    let (seconds, millis) = (all / 1_000, all % 1_000);
    let fraction = format!(".{millis:03}");
    let fraction = if millis == 0 { "" } else { fraction.trim_end_matches('0') };
    format!("{sign}{}:{:02}:{:02}{fraction}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// Milliseconds of a latency: three digits, as many as a reader compares.
pub fn latency(ms: Option<f64>) -> String {
    match ms {
        None => NONE.to_owned(),
        Some(ms) if ms < 10.0 => format!("{ms:.2}{NBSP}ms"),
        Some(ms) if ms < 100.0 => format!("{ms:.1}{NBSP}ms"),
        Some(ms) => format!("{}{NBSP}ms", grouped(ms.round().max(0.0) as u64)),
    }
}

/// `267,118`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 incident`, `3 incidents`, `no incident`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    match number {
        0 => format!("no {one}"),
        1 => format!("1{NBSP}{one}"),
        _ => format!("{}{NBSP}{many}", grouped(number)),
    }
}

/// The zone in which a report is told.
#[derive(Debug, Clone)]
pub struct Zone {
    pub name: String,
    zone: TimeZone,
}

impl Zone {
    /// That of the report; UTC when it is not known here any more.
    pub fn of(report: &Report) -> Self {
        Self::named(&report.slo.window.timezone)
    }

    /// By its name; UTC when it is not known here.
    pub fn named(name: &str) -> Self {
        match zone(name) {
            Ok(zone) => Self { name: name.to_owned(), zone },
            Err(_) => Self { name: "UTC".to_owned(), zone: TimeZone::UTC },
        }
    }

    /// `Tue 6 Oct 14:21:08`: the year is that of the report. Fractions of a second only where there are.
    pub fn instant(&self, at: Millis) -> String {
        let text = self.format(at, "%a %-d %b %H:%M:%S%.3f");
        text.strip_suffix(".000").map_or(text.clone(), str::to_owned)
    }

    /// `Tue 3 Nov 2026 00:10 CET`.
    pub fn dated(&self, at: Millis) -> String {
        self.format(at, "%a %-d %b %Y %H:%M %Z")
    }

    /// From one instant to another; on the same day the day is told once. No end is one that goes on.
    pub fn span(&self, from: Millis, to: Option<Millis>) -> String {
        let start = self.instant(from);
        let Some(to) = to else { return format!("{start} – goes on") };
        let day = |at| self.format(at, "%F");
        let end = self.instant(to);
        if day(from) == day(to) {
            let time = self.format(to, "%H:%M:%S%.3f");
            return format!("{start} – {}", time.strip_suffix(".000").unwrap_or(&time));
        }
        if self.format(to, "%H:%M:%S%.3f") == "00:00:00.000" && day(from) == day(to - 1) {
            return format!("{start} – 24:00:00");
        }
        format!("{start} – {end}")
    }

    pub fn format(&self, at: Millis, how: &str) -> String {
        match Timestamp::from_millisecond(at) {
            Ok(at) => at.to_zoned(self.zone.clone()).strftime(how).to_string(),
            Err(_) => at.to_string(),
        }
    }

    /// When clocks were changed in `[from, to)`, the first time: `clocks went back on Sun 25 Oct`.
    pub fn change(&self, from: Millis, to: Millis) -> Option<String> {
        let start = Timestamp::from_millisecond(from).ok()?;
        let mut before = self.zone.to_offset(start);
        for change in self.zone.following(start).take(8) {
            let at = change.timestamp().as_millisecond();
            if at >= to {
                return None;
            }
            if change.offset() != before {
                let way = if change.offset() > before { "forward" } else { "back" };
                return Some(format!("clocks went {way} on {}", self.format(at, "%a %-d %b")));
            }
            before = change.offset();
        }
        None
    }
}

/// The report's window in words: `October 2026`, `30 days to Tue 16 Jun 2026 00:00 UTC`.
pub fn period(report: &Report, zone: &Zone) -> String {
    let at = super::document::instant;
    let (Some(start), Some(end)) = (at(&report.window.start), at(&report.window.end)) else {
        return format!("{} – {}", report.window.start, report.window.end);
    };
    let kind = &report.slo.window;
    let first = zone.format(start, "%d");
    let month = zone.format(start, "%-m").parse::<u32>().unwrap_or(1);
    let day = |at| zone.format(at, "%-d %B %Y");
    match (kind.kind.as_str(), kind.duration.as_deref()) {
        ("calendar", Some("1M")) if first == "01" => zone.format(start, "%B %Y"),
        ("calendar", Some("1Q")) if first == "01" && month % 3 == 1 => {
            format!("quarter {} of {}", month.div_ceil(3), zone.format(start, "%Y"))
        }
        ("calendar", Some("1Y")) if first == "01" && month == 1 => zone.format(start, "%Y"),
        ("calendar", Some("1w")) => format!("week {}", zone.format(start, "%-V of %G")),
        ("calendar", Some("1d")) => day(start),
        ("rolling", Some(length)) => {
            let days = length.trim_end_matches('d');
            let unit = if days == "1" { "day" } else { "days" };
            format!("{days} {unit} to {}", zone.dated(end))
        }
        _ => format!("{} – {}", day(start), day(end - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_told_to_the_millisecond() {
        assert_eq!(exact(0), "0\u{a0}s");
        assert_eq!(exact(2_674_800), "44\u{a0}min 34.8\u{a0}s");
        assert_eq!(exact(743 * 3_600_000), "743\u{a0}h");
        assert_eq!(exact(3_600_001), "1\u{a0}h 0.001\u{a0}s");
        assert_eq!(clock(2_672_963_000), "742:29:23");
        assert_eq!(clock(1_297_040), "0:21:37.04");
        assert_eq!(clock(-1_200), "−0:00:01.2");
        assert_eq!(mean(Some(890_940_123)), "10\u{a0}d 7\u{a0}h 29\u{a0}min");
        assert_eq!(mean(Some(15_250)), "15.2\u{a0}s");
    }

    #[test]
    fn percentages_are_cut_off() {
        assert_eq!(percent(Some(0.9999999)), "99.999\u{a0}%");
        assert_eq!(percent(Some(1.0)), "100.000\u{a0}%");
        assert_eq!(percent(Some(0.29)), "29.000\u{a0}%", "not 28.999, which its double would give");
        assert_eq!(percent(None), "–");
        assert_eq!(share(1, 3), "33.333\u{a0}%");
    }

    #[test]
    fn instants_are_told_in_the_zone_of_the_report() {
        let berlin = Zone { name: "Europe/Berlin".into(), zone: zone("Europe/Berlin").unwrap() };
        let at = |text: &str| super::super::document::instant(text).unwrap();
        let start = at("2026-10-06T12:21:08Z");
        assert_eq!(berlin.span(start, Some(start + 770_000)), "Tue 6 Oct 14:21:08 – 14:33:58");
        assert_eq!(berlin.span(start, None), "Tue 6 Oct 14:21:08 – goes on");
        let midnight = at("2026-10-08T22:00:00Z");
        assert_eq!(
            berlin.span(midnight - 7_200_000, Some(midnight)),
            "Thu 8 Oct 22:00:00 – 24:00:00"
        );
        let (from, to) = (at("2026-09-30T22:00:00Z"), at("2026-10-31T23:00:00Z"));
        assert_eq!(berlin.change(from, to).unwrap(), "clocks went back on Sun 25 Oct");
        assert_eq!(berlin.change(from, from + 86_400_000), None);
        assert_eq!(grouped(1_267_118), "1,267,118");
    }
}
