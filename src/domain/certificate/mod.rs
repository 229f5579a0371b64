//! Certificates that monitors are shown: how long they last, who is told before they end ([`watch`]), and
//! whether they come from somebody else than before ([`issuer`]).

pub mod habit;
pub mod issuer;
pub mod watch;
pub mod words;

use jiff::{SignedDuration, Timestamp};

use super::{Invalid, ids::LocationKey};

const DAY_S: i64 = 86_400;

/// Days before the end at which people are told, unless somebody chose others.
pub const THRESHOLDS: [u16; 5] = [30, 14, 7, 3, 1];
/// So many can be chosen.
const MOST: usize = 10;
/// The furthest that one can lie before the end, in days.
const FURTHEST: i64 = 3_650;

/// Whole days from `now` to `not_after`, floored toward "sooner": negative once it is over.
pub fn days_left(not_after: Timestamp, now: Timestamp) -> i32 {
    let days = (not_after.as_second() - now.as_second()).div_euclid(DAY_S);
    i32::try_from(days).unwrap_or(if days < 0 { i32::MIN } else { i32::MAX })
}

/// The first second in which no more than `days` days are left.
pub fn reaches(not_after: Timestamp, days: u16) -> Timestamp {
    let second = not_after.as_second() - (i64::from(days) + 1) * DAY_S + 1;
    Timestamp::from_second(second).unwrap_or(Timestamp::MIN)
}

/// Thresholds as somebody wrote them, in days: 1 to 10 different ones from 0 to 3,650. The most days come
/// first.
pub fn thresholds(field: &str, days: &[i64]) -> Result<Vec<u16>, Invalid> {
    if !(1..=MOST).contains(&days.len()) {
        let why = format!("has {} values: 1 to {MOST} can be", days.len());
        return Err(Invalid::new(field, why));
    }
    let mut list = Vec::with_capacity(days.len());
    for (i, day) in days.iter().enumerate() {
        let fits = u16::try_from(*day).ok().filter(|_| (0..=FURTHEST).contains(day));
        let Some(fits) = fits else {
            let why = format!("{day} is out of range: 0 to {FURTHEST} days");
            return Err(Invalid::new(format!("{field}[{i}]"), why));
        };
        if list.contains(&fits) {
            let why = format!("{day} stands there twice; each can be told once");
            return Err(Invalid::new(format!("{field}[{i}]"), why));
        }
        list.push(fits);
    }
    list.sort_unstable_by(|a, b| b.cmp(a));
    Ok(list)
}

/// A certificate as one location was shown it at one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    pub location: LocationKey,
    /// None where it is not known.
    pub address: Option<String>,
    pub fingerprint: String,
    /// Whoever issued it, by [`issuer::name`].
    pub issuer: String,
    /// Earliest end of the path that was used.
    pub not_after: Timestamp,
    /// Since when it is shown there.
    pub since: Timestamp,
    /// When it was shown there last.
    pub last: Timestamp,
}

/// How long a certificate counts as shown after it was, while others of the monitor are: long enough that each
/// address behind a name is met again.
pub fn window(interval_s: i64) -> SignedDuration {
    SignedDuration::from_secs((90 * 60).max(2 * interval_s + 30 * 60))
}

/// Those that count as shown now: seen within the [`window`] before the latest of all. When nobody sees
/// anything any more, what was known last stays.
pub fn in_use(mut sights: Vec<Sight>, interval_s: i64) -> Vec<Sight> {
    let Some(latest) = sights.iter().map(|sight| sight.last).max() else { return sights };
    let from = latest.saturating_sub(window(interval_s)).unwrap_or(Timestamp::MIN);
    sights.retain(|sight| sight.last >= from);
    sights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn days_are_floored_toward_sooner_and_reached_in_the_first_second() {
        let end = at("2026-06-30T12:00:00Z");
        for (now, days) in [
            ("2026-06-29T23:00:00Z", 0),
            ("2026-06-28T23:00:00Z", 1),
            ("2026-06-28T12:00:00Z", 2),
            ("2026-06-30T12:00:00Z", 0),
            ("2026-06-30T12:00:01Z", -1),
        ] {
            assert_eq!(days_left(end, at(now)), days, "{now}");
        }
        for days in [0, 1, 30] {
            let first = reaches(end, days);
            assert_eq!(days_left(end, first), i32::from(days));
            assert_eq!(days_left(end, first - SignedDuration::from_secs(1)), i32::from(days) + 1);
        }
        assert!(days_left(Timestamp::MAX, Timestamp::MIN) > 7_000_000);
        assert_eq!(reaches(Timestamp::MIN, 3_650), Timestamp::MIN);
    }

    #[test]
    fn thresholds_are_few_different_and_sorted() {
        let read = |days: &[i64]| thresholds("certificate_days", days);
        assert_eq!(read(&[1, 3_650, 0, 30]), Ok(vec![3_650, 30, 1, 0]));
        for (days, field) in [
            (&[][..], "certificate_days"),
            (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], "certificate_days"),
            (&[7, -1], "certificate_days[1]"),
            (&[3_651], "certificate_days[0]"),
            (&[7, 14, 7], "certificate_days[2]"),
        ] {
            assert_eq!(read(days).unwrap_err().field, field, "{days:?}");
        }
    }

    #[test]
    fn what_was_not_shown_for_long_is_not_in_use() {
        let sight = |location: i16, last: &str| Sight {
            location: LocationKey(location),
            address: None,
            fingerprint: "f".into(),
            issuer: "CA".into(),
            not_after: at("2027-01-01T00:00:00Z"),
            since: at("2026-01-01T00:00:00Z"),
            last: at(last),
        };
        let all = vec![
            sight(1, "2026-06-01T12:00:00Z"),
            sight(2, "2026-06-01T10:30:00Z"),
            sight(3, "2026-06-01T10:29:59Z"),
        ];
        let used: Vec<i16> = in_use(all.clone(), 60).iter().map(|s| s.location.0).collect();
        assert_eq!(used, [1, 2]);
        // Of a monitor that looks every six hours a sight holds for longer.
        assert_eq!(in_use(all, 6 * 3_600).len(), 3);
        assert_eq!(in_use(Vec::new(), 60), Vec::new());
    }
}
