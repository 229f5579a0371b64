//! How long before its end a monitor's certificate is renewed, by what was seen of it.

use jiff::Timestamp;

use super::{Sight, days_left};

/// What is remembered of a monitor's renewals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Habit {
    /// The certificate that is followed: its fingerprint, and when it ends.
    pub current: Option<(String, Timestamp)>,
    /// Days that were left of the one before when the last location was shown another.
    pub renewed_days: Option<i32>,
}

/// The habit after a look. Of several certificates the one that ends first is followed, until nobody is shown it any
/// more; what takes its place and ends no later is no renewal.
pub fn follow(before: &Habit, sights: &[Sight], now: Timestamp) -> Habit {
    let Some(first) = sights.iter().min_by_key(|sight| (sight.not_after, &sight.fingerprint))
    else {
        return before.clone();
    };
    let next = Some((first.fingerprint.clone(), first.not_after));
    match &before.current {
        Some((fingerprint, _)) if sights.iter().any(|s| s.fingerprint == *fingerprint) => {
            before.clone()
        }
        Some((_, ended)) if first.not_after > *ended => {
            Habit { current: next, renewed_days: Some(days_left(*ended, now)) }
        }
        _ => Habit { current: next, ..before.clone() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::LocationKey;
    use jiff::SignedDuration;

    fn day(days: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * days)
    }

    fn sight(location: i16, fingerprint: &str, ends: i64) -> Sight {
        Sight {
            location: LocationKey(location),
            address: None,
            fingerprint: fingerprint.into(),
            issuer: "CA".into(),
            not_after: day(ends),
            since: day(0),
            last: day(0),
        }
    }

    #[test]
    fn a_renewal_counts_once_the_last_location_has_it() {
        let first = follow(&Habit::default(), &[sight(1, "a", 90), sight(2, "a", 90)], day(0));
        assert_eq!(first, Habit { current: Some(("a".into(), day(90))), renewed_days: None });
        let mixed = follow(&first, &[sight(1, "b", 150), sight(2, "a", 90)], day(60));
        assert_eq!(mixed, first);
        let renewed = follow(&mixed, &[sight(1, "b", 150), sight(2, "b", 150)], day(62));
        assert_eq!(
            renewed,
            Habit { current: Some(("b".into(), day(150))), renewed_days: Some(28) }
        );
        assert_eq!(follow(&renewed, &[], day(63)), renewed);
        // Back to the old one is no renewal, and nothing is forgotten.
        let back = follow(&renewed, &[sight(1, "a", 90)], day(64));
        assert_eq!(back, Habit { current: Some(("a".into(), day(90))), renewed_days: Some(28) });
    }
}
