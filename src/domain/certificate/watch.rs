//! Who is told when that a certificate ends: pure.
//!
//! A certificate is told once at each threshold that it reaches, whoever sees it and however often: what is kept
//! of it is the tightest threshold that was told, and only a tighter one is told after that. One that is first
//! seen close to its end is told at the tightest it has reached alone. The alarm is over when nobody is shown the
//! certificate any more.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{Sight, days_left, reaches};

/// An old certificate that is still shown so long after a new one has appeared was left behind.
const LEFT_BEHIND: SignedDuration = SignedDuration::from_mins(30);

/// What is kept of a certificate that was told, by its fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// The tightest threshold that was told, in days.
    pub days: u16,
    /// When it ends, as was told.
    pub not_after: Timestamp,
    /// It was told that only some are shown the renewed one.
    pub in_part: bool,
    /// Its incident is open.
    pub open: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// Of locations that are believed, in use.
    pub sights: &'a [Sight],
    /// In days.
    pub thresholds: &'a [u16],
    pub alarms: &'a BTreeMap<String, Alarm>,
    /// In maintenance: what is reached now is told afterwards. Ends are told all the same.
    pub quiet: bool,
    /// Nothing is shown at all, and not only because nothing was seen yet.
    pub bare: bool,
    pub now: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// It has reached a threshold, in days.
    Warn {
        fingerprint: String,
        threshold: u16,
    },
    /// It was renewed, but not everywhere.
    InPart {
        fingerprint: String,
    },
    End {
        fingerprint: String,
        how: End,
    },
}

impl Act {
    /// Of the certificate that it is about.
    pub fn fingerprint(&self) -> &str {
        match self {
            Act::Warn { fingerprint, .. }
            | Act::InPart { fingerprint }
            | Act::End { fingerprint, .. } => fingerprint,
        }
    }
}

/// Why an alarm is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Everybody is shown one that ends later.
    Renewed,
    /// Nobody is shown it, but what is shown instead, if anything, ends no later.
    Gone,
    /// It is shown, but its end is beyond every threshold: they were changed, or its path was.
    Later,
}

/// What is to be told of a monitor's certificates now.
pub fn look(given: Given<'_>) -> Vec<Act> {
    let shown = shown(given.sights);
    let mut acts = Vec::new();
    for (fingerprint, alarm) in given.alarms.iter().filter(|(_, alarm)| alarm.open) {
        let how = match shown.get(fingerprint.as_str()) {
            Some(one) if !reached(one.not_after, &given).is_empty() => continue,
            Some(_) => End::Later,
            None if shown.is_empty() && !given.bare => continue,
            None if shown.is_empty() => End::Gone,
            None if shown.values().all(|one| one.not_after > alarm.not_after) => End::Renewed,
            None => End::Gone,
        };
        acts.push(Act::End { fingerprint: fingerprint.clone(), how });
    }
    for (fingerprint, one) in &shown {
        if given.quiet || days_left(one.not_after, given.now) < 0 {
            // What has ended already fails the monitor itself.
            continue;
        }
        let alarm = given.alarms.get(*fingerprint);
        let tightest = reached(one.not_after, &given).into_iter().min();
        let fingerprint = (*fingerprint).to_owned();
        match (tightest, alarm) {
            (Some(threshold), alarm) if alarm.is_none_or(|alarm| threshold < alarm.days) => {
                acts.push(Act::Warn { fingerprint, threshold });
            }
            (Some(_), Some(alarm))
                if alarm.open && !alarm.in_part && left_behind(&fingerprint, one, given.sights) =>
            {
                acts.push(Act::InPart { fingerprint });
            }
            _ => {}
        }
    }
    acts
}

/// When the next threshold is reached, if nothing changes before.
pub fn next(given: Given<'_>) -> Option<Timestamp> {
    let mut next: Option<Timestamp> = None;
    for (fingerprint, one) in shown(given.sights) {
        let told = given.alarms.get(fingerprint).map(|alarm| alarm.days);
        for days in given.thresholds.iter().filter(|days| told.is_none_or(|told| **days < told)) {
            let at = reaches(one.not_after, *days);
            if at > given.now && next.is_none_or(|next| at < next) {
                next = Some(at);
            }
        }
    }
    next
}

/// Whether some are shown a certificate that ends later while others still see this one.
pub fn is_mixed(fingerprint: &str, sights: &[Sight]) -> bool {
    shown(sights).get(fingerprint).is_some_and(|one| {
        sights
            .iter()
            .any(|other| other.fingerprint != fingerprint && other.not_after > one.not_after)
    })
}

/// One certificate that is shown now.
struct Shown {
    /// The earliest end of the paths to it.
    not_after: Timestamp,
    last: Timestamp,
}

fn shown(sights: &[Sight]) -> BTreeMap<&str, Shown> {
    let mut shown: BTreeMap<&str, Shown> = BTreeMap::new();
    for sight in sights {
        let one = shown
            .entry(&sight.fingerprint)
            .or_insert(Shown { not_after: sight.not_after, last: sight.last });
        one.not_after = one.not_after.min(sight.not_after);
        one.last = one.last.max(sight.last);
    }
    shown
}

fn reached(not_after: Timestamp, given: &Given<'_>) -> Vec<u16> {
    let left = days_left(not_after, given.now);
    given.thresholds.iter().copied().filter(|days| left <= i32::from(*days)).collect()
}

fn left_behind(fingerprint: &str, one: &Shown, sights: &[Sight]) -> bool {
    let newer = sights
        .iter()
        .filter(|other| other.fingerprint != fingerprint && other.not_after > one.not_after);
    let since = newer.map(|other| other.since).min();
    since.is_some_and(|since| one.last.duration_since(since) >= LEFT_BEHIND)
}

#[cfg(test)]
mod tests;
