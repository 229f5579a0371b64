//! Stamps as logs write them, in µs since the Unix epoch. The last day and the last offset are remembered,
//! because nearly every line has them again.

use super::{Context, scan};

const DAY_S: i64 = 86_400;
/// The years 1 to 9999 in µs since the epoch: what a calendar can show, in every zone.
pub const YEARS_US: std::ops::Range<i64> = -62_135_510_400_000_000..253_402_207_200_000_000;
const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

/// Reads stamps of one source.
#[derive(Debug, Clone)]
pub struct Stamps {
    tz: jiff::tz::TimeZone,
    now_us: i64,
    /// `dd/Mon/yyyy` and the epoch of its midnight, in seconds.
    clf_day: ([u8; 11], i64),
    /// `yyyy-mm-dd` and the same.
    iso_day: ([u8; 10], i64),
    /// `+hhmm` and its seconds.
    offset: ([u8; 5], i64),
    /// A minute of wall-clock time in `tz`, and the offset of the zone in it.
    local: (i64, i64),
}

impl Stamps {
    pub fn new(context: &Context) -> Self {
        Self {
            tz: context.tz.clone(),
            now_us: context.now_us,
            clf_day: ([0; 11], 0),
            iso_day: ([0; 10], 0),
            offset: (*b"+0000", 0),
            local: (i64::MIN, 0),
        }
    }

    /// The instant that the source was told is now, in µs.
    pub fn now_us(&self) -> i64 {
        self.now_us
    }

    /// `29/Nov/2026:19:32:17 +0000`, and without zone, and with decimals of the second:
    /// `29/Nov/2026:19:32:17.072`.
    pub fn clf(&mut self, text: &[u8]) -> Option<i64> {
        let (day, rest) = text.split_first_chunk::<11>()?;
        if *day != self.clf_day.0 {
            self.clf_day = (*day, clf_day(day)?);
        }
        let rest = rest.strip_prefix(b":")?;
        let (clock, rest) = rest.split_first_chunk::<8>()?;
        let local_s = self.clf_day.1 + clock_s(clock)?;
        let (fraction, rest) = fraction_us(rest)?;
        self.instant(local_s, fraction, rest.strip_prefix(b" ").unwrap_or(rest))
    }

    /// `2026-11-29T19:32:17.072645+00:00` and its kin: a space for the `T`, slashes in the date, up to
    /// nanoseconds, `Z`, `+0000`, `+00`, or no zone.
    pub fn iso(&mut self, text: &[u8]) -> Option<i64> {
        let (day, rest) = text.split_first_chunk::<10>()?;
        if *day != self.iso_day.0 {
            self.iso_day = (*day, iso_day(day)?);
        }
        let [b'T' | b't' | b' ', rest @ ..] = rest else { return None };
        let (clock, rest) = rest.split_first_chunk::<8>()?;
        let local_s = self.iso_day.1 + clock_s(clock)?;
        let (fraction, rest) = fraction_us(rest)?;
        self.instant(local_s, fraction, rest.strip_prefix(b" ").unwrap_or(rest))
    }

    /// A stamp in any of the shapes that access logs have: common log, ISO, seconds since the epoch.
    pub fn any(&mut self, text: &[u8]) -> Option<i64> {
        match text {
            [_, _, b'/', ..] => self.clf(text),
            [_, _, _, _, b'-' | b'/', ..] => self.iso(text),
            _ => epoch(text),
        }
    }

    /// `Nov 29 19:32:19` or `Nov  9 19:32:19` (RFC 3164): the newest year in which it is not a day ahead.
    pub fn rfc3164(&mut self, text: &[u8]) -> Option<i64> {
        let [m0, m1, m2, b' ', d0 @ (b' ' | b'0'..=b'3'), d1, b' ', clock @ ..] = text else {
            return None;
        };
        let month = month([*m0, *m1, *m2])?;
        let tens = if *d0 == b' ' { 0 } else { digit(*d0)? };
        let day = tens * 10 + digit(*d1)?;
        let clock = clock_s(clock.try_into().ok()?)?;
        self.yearless(|year| Some(day_number(year, month, day)? * DAY_S + clock))
    }

    /// Day of the year, counted from 0 or 1 as the program does, and the time of the day in seconds.
    pub fn day_of_year(&mut self, day: u16, seconds: i64) -> Option<i64> {
        let days = i64::from(day.checked_sub(1).filter(|day| *day < 366)?);
        self.yearless(|year| Some((day_number(year, 1, 1)? + days) * DAY_S + seconds))
    }

    /// The instant of a wall-clock time in seconds, by the source's zone.
    pub fn local(&mut self, local_s: i64) -> Option<i64> {
        let minute = local_s.div_euclid(60);
        if self.local.0 != minute {
            self.local = (minute, self.offset_at(local_s)?);
        }
        Some(local_s - self.local.1)
    }

    fn instant(&mut self, local_s: i64, fraction_us: i64, zone: &[u8]) -> Option<i64> {
        let seconds = match zone {
            b"" => self.local(local_s)?,
            b"Z" | b"z" => local_s,
            _ => local_s - self.zone_s(zone)?,
        };
        Some(seconds * 1_000_000 + fraction_us)
    }

    /// `+hhmm`, `+hh:mm` or `+hh` in seconds.
    fn zone_s(&mut self, zone: &[u8]) -> Option<i64> {
        let key: [u8; 5] = match *zone {
            [s, a, b, c, d] => [s, a, b, c, d],
            [s, a, b, b':', c, d] => [s, a, b, c, d],
            [s, a, b] => [s, a, b, b'0', b'0'],
            _ => return None,
        };
        if key != self.offset.0 {
            let sign = match key[0] {
                b'+' => 1,
                b'-' => -1,
                _ => return None,
            };
            let hours = pair(key[1], key[2]).filter(|hours| *hours < 24)?;
            let minutes = pair(key[3], key[4]).filter(|minutes| *minutes < 60)?;
            self.offset = (key, sign * (hours * 3_600 + minutes * 60));
        }
        Some(self.offset.1)
    }

    fn offset_at(&self, local_s: i64) -> Option<i64> {
        let day = local_s.div_euclid(DAY_S);
        let date = jiff::civil::date(1970, 1, 1)
            .checked_add(jiff::Span::new().try_days(day).ok()?)
            .ok()?;
        let second = i32::try_from(local_s.rem_euclid(DAY_S)).ok()?;
        let time = jiff::civil::Time::midnight()
            .checked_add(jiff::Span::new().try_seconds(second).ok()?)
            .ok()?;
        // A wall-clock time that occurs twice is taken as the first, one that never was as the later.
        let zoned = self.tz.to_ambiguous_timestamp(date.to_datetime(time)).compatible().ok()?;
        Some(local_s - zoned.as_second())
    }

    fn yearless(&mut self, in_year: impl Fn(i64) -> Option<i64>) -> Option<i64> {
        let now_s = self.now_us.div_euclid(1_000_000);
        let this_year = civil_year(now_s.div_euclid(DAY_S));
        // A year back too, and for 29 February the last leap year.
        for year in (this_year - 8..=this_year + 1).rev() {
            let Some(local_s) = in_year(year) else { continue };
            let seconds = self.local(local_s)?;
            if seconds <= now_s + DAY_S {
                return seconds.checked_mul(1_000_000);
            }
        }
        None
    }
}

/// Seconds since the epoch with or without decimals. Numbers too large for seconds are taken as ms, µs or
/// ns, by their size.
pub fn epoch(text: &[u8]) -> Option<i64> {
    let whole = text.iter().position(|b| matches!(b, b'.' | b'e' | b'E')).unwrap_or(text.len());
    let unit = match whole {
        0..=11 => scan::Unit::Seconds,
        12..=14 => scan::Unit::Millis,
        15..=17 => scan::Unit::Micros,
        _ => scan::Unit::Nanos,
    };
    i64::try_from(scan::micros(text, unit)?).ok()
}

/// `hh:mm:ss` in seconds. A leap second is the second after it.
pub fn clock_s(text: &[u8; 8]) -> Option<i64> {
    let [h0, h1, b':', m0, m1, b':', s0, s1] = *text else { return None };
    let (hours, minutes, seconds) = (pair(h0, h1)?, pair(m0, m1)?, pair(s0, s1)?);
    (hours < 24 && minutes < 60 && seconds < 61).then_some(hours * 3_600 + minutes * 60 + seconds)
}

/// `.072` or `,072` or nothing: µs, and the rest.
fn fraction_us(text: &[u8]) -> Option<(i64, &[u8])> {
    let [b'.' | b',', digits @ ..] = text else { return Some((0, text)) };
    let (mut value, mut weight, mut length) = (0, 100_000, 0);
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value += i64::from(digit) * weight;
        weight /= 10;
        length += 1;
    }
    (1..=12).contains(&length).then(|| (value, &digits[length..]))
}

fn clf_day(text: &[u8; 11]) -> Option<i64> {
    let [d0, d1, b'/', m0, m1, m2, b'/', y0, y1, y2, y3] = *text else { return None };
    let year = pair(y0, y1)? * 100 + pair(y2, y3)?;
    Some(day_number(year, month([m0, m1, m2])?, pair(d0, d1)?)? * DAY_S)
}

fn iso_day(text: &[u8; 10]) -> Option<i64> {
    let [y0, y1, y2, y3, a, m0, m1, b, d0, d1] = *text;
    if a != b || !matches!(a, b'-' | b'/') {
        return None;
    }
    let year = pair(y0, y1)? * 100 + pair(y2, y3)?;
    Some(day_number(year, pair(m0, m1)?, pair(d0, d1)?)? * DAY_S)
}

fn month(name: [u8; 3]) -> Option<i64> {
    let at = MONTHS.chunks_exact(3).position(|month| month == name)?;
    i64::try_from(at + 1).ok()
}

/// Days since the epoch of a date of the Gregorian calendar; none if there is no such day.
fn day_number(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // Years that begin in March end with the leap day, so that days before a month have a formula.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(days + (153 * month + 2) / 5 + day - 1 - 719_468)
}

/// The year in which a day since the epoch falls.
fn civil_year(day: i64) -> i64 {
    let mut year = 1970 + day.div_euclid(365);
    while day_number(year, 1, 1).is_some_and(|first| first > day) {
        year -= 1;
    }
    year
}

fn pair(tens: u8, ones: u8) -> Option<i64> {
    Some(digit(tens)? * 10 + digit(ones)?)
}

fn digit(byte: u8) -> Option<i64> {
    byte.is_ascii_digit().then(|| i64::from(byte - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(zone: &str, now: &str) -> Stamps {
        let tz = jiff::tz::TimeZone::get(zone).unwrap();
        let now: jiff::Timestamp = now.parse().unwrap();
        Stamps::new(&Context { tz, now_us: now.as_microsecond() })
    }

    fn shown(us: Option<i64>) -> String {
        us.map_or_else(
            || "none".to_owned(),
            |us| jiff::Timestamp::from_microsecond(us).unwrap().to_string(),
        )
    }

    #[test]
    fn common_log_stamps() {
        let mut stamps = stamps("Europe/Berlin", "2026-12-01T00:00:00Z");
        let mut read = |text: &str| shown(stamps.clf(text.as_bytes()));
        assert_eq!(read("29/Nov/2026:19:32:17 +0000"), "2026-11-29T19:32:17Z");
        assert_eq!(read("29/Nov/2026:19:32:17 -0930"), "2026-11-30T05:02:17Z");
        assert_eq!(read("22/Jan/2019:03:56:14 +0330"), "2019-01-22T00:26:14Z");
        assert_eq!(read("29/Feb/2024:23:59:60 +0000"), "2024-03-01T00:00:00Z");
        assert_eq!(read("29/Nov/2026:19:32:17.072"), "2026-11-29T18:32:17.072Z");
        assert_eq!(read("29/Jul/2026:19:32:17.0725 +0000"), "2026-07-29T19:32:17.0725Z");
        assert_eq!(read("29/Jul/2026:19:32:17"), "2026-07-29T17:32:17Z");
        for bad in [
            "29/Feb/2026:19:32:17 +0000",
            "29/nov/2026:19:32:17 +0000",
            "29/Nov/2026:24:32:17 +0000",
            "29/Nov/2026:19:32:17 +2500",
            "29/Nov/2026:19:32:17 UTC",
            "29/Nov/2026 19:32:17",
            "29/Nov/2026:19:32:17.",
            "",
        ] {
            assert_eq!(read(bad), "none", "{bad}");
        }
    }

    #[test]
    fn iso_stamps() {
        let mut stamps = stamps("America/New_York", "2026-12-01T00:00:00Z");
        let mut read = |text: &str| shown(stamps.iso(text.as_bytes()));
        assert_eq!(read("2026-11-29T19:32:17.072645+00:00"), "2026-11-29T19:32:17.072645Z");
        assert_eq!(read("2026-11-29T19:32:17.072645999Z"), "2026-11-29T19:32:17.072645Z");
        assert_eq!(read("2026-11-29T19:32:17-05"), "2026-11-30T00:32:17Z");
        assert_eq!(read("2026/11/29 19:32:17"), "2026-11-30T00:32:17Z");
        assert_eq!(read("2026-11-29 19:32:17,5 +0000"), "2026-11-29T19:32:17.5Z");
        assert_eq!(read("1969-12-31T23:59:59.25Z"), "1969-12-31T23:59:59.25Z");
        for bad in
            ["2026-11-31T00:00:00Z", "2026-11/29T00:00:00Z", "2026-11-29", "2026-13-01T00:00:00Z"]
        {
            assert_eq!(read(bad), "none", "{bad}");
        }
    }

    #[test]
    fn wall_clocks_follow_their_zone_through_a_change() {
        let mut stamps = stamps("Europe/Berlin", "2026-12-01T00:00:00Z");
        let mut read = |text: &str| shown(stamps.clf(text.as_bytes()));
        assert_eq!(read("25/Oct/2026:01:59:59.000"), "2026-10-24T23:59:59Z");
        assert_eq!(read("25/Oct/2026:02:30:00.000"), "2026-10-25T00:30:00Z");
        assert_eq!(read("25/Oct/2026:03:00:00.000"), "2026-10-25T02:00:00Z");
        assert_eq!(read("29/Mar/2026:02:30:00.000"), "2026-03-29T01:30:00Z");
    }

    #[test]
    fn no_year_is_the_newest_that_is_not_a_day_ahead() {
        let mut stamps = stamps("UTC", "2027-01-01T00:10:00Z");
        let mut read = |text: &str| shown(stamps.rfc3164(text.as_bytes()));
        assert_eq!(read("Dec 31 23:59:59"), "2026-12-31T23:59:59Z");
        assert_eq!(read("Jan  1 00:09:59"), "2027-01-01T00:09:59Z");
        assert_eq!(read("Jan  2 00:09:59"), "2027-01-02T00:09:59Z");
        assert_eq!(read("Jan  3 00:09:59"), "2026-01-03T00:09:59Z");
        assert_eq!(read("Feb 29 12:00:00"), "2024-02-29T12:00:00Z");
        assert_eq!(read("Nov 29 19:32:19"), "2026-11-29T19:32:19Z");
        assert_eq!(read("Nov 3x 19:32:19"), "none");
        assert_eq!(shown(stamps.day_of_year(253, 86_396)), "2026-09-10T23:59:56Z");
        assert_eq!(shown(stamps.day_of_year(0, 0)), "none");
    }

    #[test]
    fn numbers_since_the_epoch_by_their_size() {
        for text in [
            "1795980739.128",
            "1795980739128",
            "1795980739128000",
            "1795980739128000999",
            "1.795980739128e9",
        ] {
            assert_eq!(shown(epoch(text.as_bytes())), "2026-11-29T19:32:19.128Z", "{text}");
        }
        assert_eq!(epoch(b"-1"), None);
        assert_eq!(epoch(b"2026-11-29"), None);
    }
}
