//! Who issued a certificate, and whether that has changed.
//!
//! An issuer is its organisation, or its common name if it has none: an authority signs with several
//! intermediate certificates in turn, and none of these turns is news.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

/// Locations that are shown different issuers get this long to agree.
pub const HOLD: SignedDuration = SignedDuration::from_hours(24);

/// What was known of a monitor's issuers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// Those that are no news; empty before the first certificate.
    pub issuers: BTreeSet<String>,
    /// Since when locations are shown different ones, some of them new.
    pub differ_since: Option<Timestamp>,
}

/// One change, to be told once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub before: BTreeSet<String>,
    pub after: BTreeSet<String>,
}

/// Looks at the issuers that locations are shown now. While `quiet` nothing is found new, so that it is told
/// afterwards.
pub fn look(
    seen: &BTreeSet<String>,
    kept: &Kept,
    quiet: bool,
    now: Timestamp,
) -> (Kept, Option<Change>) {
    if seen.is_empty() {
        return (kept.clone(), None);
    }
    if kept.issuers.is_empty() {
        return (Kept { issuers: seen.clone(), differ_since: None }, None);
    }
    if seen.is_subset(&kept.issuers) {
        return (Kept { differ_since: None, ..kept.clone() }, None);
    }
    let since = match (kept.differ_since, seen.len()) {
        (since, 1) => since,
        (Some(since), _) => Some(since),
        (None, _) => Some(now),
    };
    let long = since.is_some_and(|since| now.duration_since(since) >= HOLD);
    if quiet || (seen.len() > 1 && !long) {
        return (Kept { differ_since: since, ..kept.clone() }, None);
    }
    let change = Change { before: kept.issuers.clone(), after: seen.clone() };
    (Kept { issuers: seen.clone(), differ_since: None }, Some(change))
}

/// The organisation in a name such as `C=US, O=Let's Encrypt, CN=R11`, else the common name, else all of it.
pub fn name(distinguished: &str) -> String {
    let part = |key: &str| {
        parts(distinguished).into_iter().find_map(|(name, value)| {
            (name.eq_ignore_ascii_case(key) && !value.is_empty()).then(|| value.to_owned())
        })
    };
    part("O").or_else(|| part("CN")).unwrap_or_else(|| match distinguished.trim() {
        "" => "an issuer without a name".to_owned(),
        text => text.to_owned(),
    })
}

/// Keys and values of a name. A value may hold commas: what follows one is another part only if it has a key.
fn parts(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut begin = 0;
    let separators = text.match_indices(", ").chain(text.match_indices(" + "));
    let mut cuts: Vec<(usize, usize)> =
        separators.map(|(at, word)| (at, at + word.len())).collect();
    cuts.sort_unstable();
    cuts.push((text.len(), text.len()));
    for (at, next) in cuts {
        if keyed(&text[next..]).is_none() && next < text.len() {
            continue;
        }
        let one = &text[begin..at];
        if let Some(key) = keyed(one) {
            found.push((key, &one[key.len() + 1..]));
        }
        begin = next;
    }
    found
}

/// The key that a part begins with.
fn keyed(text: &str) -> Option<&str> {
    let (key, _) = text.split_once('=')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
    (!key.is_empty() && key.chars().all(plain)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn hours(hours: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours)
    }

    #[test]
    fn the_organisation_names_an_issuer_else_its_common_name() {
        for (given, read) in [
            ("C=US, O=Let's Encrypt, CN=R11", "Let's Encrypt"),
            ("CN=Inner CA", "Inner CA"),
            ("C=US, O=Example, Inc., OU=Web, CN=CA 1", "Example, Inc."),
            ("CN=a + O=b", "b"),
            ("O=, CN=x", "x"),
            ("", "an issuer without a name"),
            ("nothing at all", "nothing at all"),
            ("2.5.4.97=VATXX, CN=y=z, w", "y=z, w"),
        ] {
            assert_eq!(name(given), read, "{given}");
        }
    }

    #[test]
    fn a_change_is_told_once_when_all_agree() {
        let first = look(&set(&["a"]), &Kept::default(), false, hours(0));
        assert_eq!(first, (Kept { issuers: set(&["a"]), differ_since: None }, None));
        let (kept, told) = look(&set(&["b"]), &first.0, false, hours(1));
        assert_eq!(told, Some(Change { before: set(&["a"]), after: set(&["b"]) }));
        assert_eq!(look(&set(&["b"]), &kept, false, hours(2)), (kept.clone(), None));
        assert_eq!(look(&set(&[]), &kept, false, hours(2)), (kept, None));
    }

    #[test]
    fn two_edges_that_differ_are_given_a_day_and_then_do_not_flap() {
        let mut kept = Kept { issuers: set(&["a"]), differ_since: None };
        for hour in 0..24 {
            let told;
            (kept, told) = look(&set(&["a", "b"]), &kept, false, hours(hour));
            assert_eq!((told, kept.differ_since), (None, Some(hours(0))), "{hour}");
        }
        let (after, told) = look(&set(&["a", "b"]), &kept, false, hours(24));
        assert_eq!(told.unwrap().after, set(&["a", "b"]));
        for seen in [&["a"][..], &["b"], &["a", "b"]] {
            assert_eq!(look(&set(seen), &after, false, hours(25)), (after.clone(), None));
        }
        // Back to the old one within the day: nothing happened.
        let (back, told) = look(&set(&["a"]), &kept, false, hours(23));
        assert_eq!((back.differ_since, told), (None, None));
    }

    #[test]
    fn in_maintenance_it_waits() {
        let kept = Kept { issuers: set(&["a"]), differ_since: None };
        assert_eq!(look(&set(&["b"]), &kept, true, hours(0)), (kept.clone(), None));
        assert!(look(&set(&["b"]), &kept, false, hours(1)).1.is_some());
    }
}
