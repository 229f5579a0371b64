//! What is said of a certificate, the same in messages and on pages.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp, tz::TimeZone};

use super::{Sight, days_left, issuer::Change};
use crate::domain::observation::Certificate;

/// Addresses and names that a sentence lists before it says how many more there are.
const NAMED: usize = 3;
/// What was not seen for so long is told with that.
const UNSEEN: SignedDuration = SignedDuration::from_hours(48);

/// In words that go on after a monitor's name, for the moment: `shows a certificate that ends in 7 days`.
pub fn title(not_after: Timestamp, now: Timestamp) -> String {
    format!("shows a certificate that {}", ends(not_after, now))
}

/// The same in words that stay true: `shows a certificate that ends on 12 Dec 2026`.
pub fn lasting_title(not_after: Timestamp) -> String {
    let day = not_after.to_zoned(TimeZone::UTC);
    format!("shows a certificate that ends on {}", day.strftime("%-d %b %Y"))
}

/// When it ends, who is shown it, and whose it is.
pub fn sentence(certificate: &Certificate, sights: &[Sight], now: Timestamp) -> String {
    let fingerprint = certificate.fingerprint.as_str();
    let own = sights.iter().filter(|sight| sight.fingerprint == fingerprint);
    let not_after = own.map(|sight| sight.not_after).min().unwrap_or(certificate.not_after);
    let mut text = format!("The certificate {}, on {}.", ends(not_after, now), day(not_after));
    let spread = spread(fingerprint, not_after, sights);
    let latest = sights.iter().map(|sight| sight.last).max();
    let unseen = match latest.filter(|latest| now.duration_since(*latest) > UNSEEN) {
        Some(latest) => format!("It was seen last on {}; nobody has looked since.", day(latest)),
        None => String::new(),
    };
    for part in [spread, unseen, whose(certificate)] {
        if !part.is_empty() {
            text.push(' ');
            text.push_str(&part);
        }
    }
    text
}

/// Who is shown it: `2 of 5 locations are still shown the old certificate, from 192.0.2.7; …`. Empty while only
/// one location looks and sees nothing else.
pub fn spread(fingerprint: &str, not_after: Timestamp, sights: &[Sight]) -> String {
    let locations: BTreeSet<_> = sights.iter().map(|sight| sight.location).collect();
    let own = sights.iter().filter(|sight| sight.fingerprint == fingerprint);
    let shown: BTreeSet<_> = own.clone().map(|sight| sight.location).collect();
    let others = || sights.iter().filter(|sight| sight.fingerprint != fingerprint);
    let (all, some) = (locations.len(), shown.len());
    let Some(other) = others().map(|sight| sight.not_after).max() else {
        return match all {
            0 | 1 => String::new(),
            all => format!("All {all} locations are shown it."),
        };
    };
    let addresses: BTreeSet<&str> = own.filter_map(|sight| sight.address.as_deref()).collect();
    let addresses: Vec<&str> = addresses.into_iter().collect();
    let from = match addresses.as_slice() {
        [] => String::new(),
        addresses => format!(", from {}", listed(addresses)),
    };
    let (old, rest) = if other > not_after {
        ("still shown the old certificate", "one that ends on")
    } else {
        ("shown this certificate", "one that ends already on")
    };
    let who = match (some, all) {
        (1, 1) => "The one location is".to_owned(),
        (some, all) if some == all => format!("All {all} locations are"),
        (1, all) => format!("1 of {all} locations is"),
        (some, all) => format!("{some} of {all} locations are"),
    };
    let others = if some == all { "at other addresses" } else { "the others are shown" };
    format!("{who} {old}{from}; {others} {rest} {}.", day(other))
}

/// What happened to a certificate whose alarm is over, as sentence.
pub fn renewed(certificate: &Certificate, sights: &[Sight]) -> String {
    let ends = sights.iter().map(|sight| sight.not_after).min();
    let seen: BTreeSet<_> = sights.iter().map(|sight| sight.location).collect();
    let until = ends.map(|end| format!(" until {}", day(end))).unwrap_or_default();
    let whom = match seen.len() {
        0 | 1 => String::new(),
        n => format!(" All {n} locations are shown the new one."),
    };
    format!(
        "The certificate that ends on {} was replaced by one that is good{until}.{whom}",
        day(certificate.not_after)
    )
}

/// Who issued it until now, and who does.
pub fn issuer_changed(change: &Change, certificate: &Certificate) -> String {
    let list = |set: &BTreeSet<String>| {
        let names: Vec<&str> = set.iter().map(String::as_str).collect();
        listed(&names)
    };
    let (before, after) = (list(&change.before), list(&change.after));
    let now = if change.after.len() > 1 {
        format!("Since a day locations are shown certificates of {after}")
    } else {
        format!("The certificate now comes from {after}")
    };
    let whose = whose(certificate);
    format!(
        "{now}; until now it came from {before}. If nobody has changed that, look who answers there. {whose}"
    )
    .trim_end()
    .to_owned()
}

/// `It is for shop.example and www.shop.example, issued by Let's Encrypt.`
fn whose(certificate: &Certificate) -> String {
    let names: Vec<&str> = certificate.names.iter().map(String::as_str).collect();
    let issuer = super::issuer::name(&certificate.issuer);
    match names.as_slice() {
        [] => format!("It was issued by {issuer}."),
        names => format!("It is for {}, issued by {issuer}.", listed(names)),
    }
}

/// `ends in 7 days`, `ended 2 days ago`
fn ends(not_after: Timestamp, now: Timestamp) -> String {
    match days_left(not_after, now) {
        days @ ..=-3 => format!("ended {} days ago", -i64::from(days) - 1),
        -2 => "ended 1 day ago".to_owned(),
        -1 => "ended less than a day ago".to_owned(),
        0 => "ends in less than a day".to_owned(),
        1 => "ends in 1 day".to_owned(),
        days => format!("ends in {days} days"),
    }
}

/// `Sat 12 Dec 2026, 10:00 UTC`
fn day(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%a %-d %b %Y, %H:%M UTC").to_string()
}

/// `a`, `a and b`, `a, b, c and 4 more`
fn listed(names: &[&str]) -> String {
    match names {
        [] => "nobody".to_owned(),
        [one] => (*one).to_owned(),
        names if names.len() <= NAMED => {
            let (first, last) = names.split_at(names.len() - 1);
            format!("{} and {}", first.join(", "), last.join(""))
        }
        names => format!("{} and {} more", names[..NAMED].join(", "), names.len() - NAMED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::LocationKey;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn certificate() -> Certificate {
        Certificate {
            subject: "CN=shop.example".into(),
            issuer: "C=US, O=Let's Encrypt, CN=R11".into(),
            fingerprint: "old".into(),
            names: ["shop.example", "a.shop.example", "b.shop.example", "c.shop.example"]
                .map(str::to_owned)
                .to_vec(),
            not_before: at("2026-09-12T10:00:00Z"),
            not_after: at("2026-12-12T10:00:00Z"),
            days_left: 60,
            chain_length: 2,
            tls_version: None,
            valid: true,
        }
    }

    fn sight(location: i16, fingerprint: &str, not_after: &str, address: &str) -> Sight {
        Sight {
            location: LocationKey(location),
            address: Some(address.into()),
            fingerprint: fingerprint.into(),
            issuer: "Let's Encrypt".into(),
            not_after: at(not_after),
            since: at("2026-12-01T00:00:00Z"),
            last: at("2026-12-05T09:00:00Z"),
        }
    }

    fn old(location: i16) -> Sight {
        sight(location, "old", "2026-12-12T10:00:00Z", "192.0.2.7")
    }

    fn new(location: i16) -> Sight {
        sight(location, "new", "2027-03-12T10:00:00Z", "192.0.2.8")
    }

    #[test]
    fn it_says_when_who_and_whose() {
        let now = at("2026-12-05T09:00:00Z");
        assert_eq!(
            sentence(&certificate(), &[old(1), old(2), old(3)], now),
            "The certificate ends in 7 days, on Sat 12 Dec 2026, 10:00 UTC. All 3 locations are shown it. \
             It is for shop.example, a.shop.example, b.shop.example and 1 more, issued by Let's Encrypt."
        );
        assert_eq!(title(certificate().not_after, now), "shows a certificate that ends in 7 days");
        assert_eq!(
            lasting_title(certificate().not_after),
            "shows a certificate that ends on 12 Dec 2026"
        );
    }

    #[test]
    fn a_renewal_that_has_not_reached_all_names_those_behind() {
        let sights = [old(1), new(2), old(3), new(4), new(5)];
        assert_eq!(
            spread("old", certificate().not_after, &sights),
            "2 of 5 locations are still shown the old certificate, from 192.0.2.7; the others are shown one \
             that ends on Fri 12 Mar 2027, 10:00 UTC."
        );
        let both = [old(1), new(1)];
        assert_eq!(
            spread("old", certificate().not_after, &both),
            "The one location is still shown the old certificate, from 192.0.2.7; at other addresses one that \
             ends on Fri 12 Mar 2027, 10:00 UTC."
        );
        assert_eq!(spread("old", certificate().not_after, &[old(1)]), "");
        assert!(
            renewed(&certificate(), &[new(1), new(2)]).ends_with(
                "replaced by one that is good until Fri 12 Mar 2027, 10:00 UTC. All 2 locations are shown the new one."
            )
        );
    }

    #[test]
    fn days_read_well_to_the_end_and_beyond() {
        let end = at("2026-12-12T10:00:00Z");
        for (now, said) in [
            ("2026-12-12T09:00:00Z", "ends in less than a day"),
            ("2026-12-11T09:00:00Z", "ends in 1 day"),
            ("2026-12-12T10:30:00Z", "ended less than a day ago"),
            ("2026-12-14T10:00:01Z", "ended 2 days ago"),
        ] {
            assert_eq!(ends(end, at(now)), said);
        }
    }

    #[test]
    fn another_issuer_is_named_beside_the_one_before() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let change = Change { before: set(&["Let's Encrypt"]), after: set(&["Example CA"]) };
        let said = issuer_changed(&change, &certificate());
        assert!(said.starts_with(
            "The certificate now comes from Example CA; until now it came from Let's Encrypt."
        ));
    }
}
