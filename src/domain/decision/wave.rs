//! Whom to ask at once (spec: decision 5.6), so that an outage is confirmed in seconds and not in turns.

use serde::{Deserialize, Serialize};

use super::verdict::counted;
use super::{First, FirstKind, Inputs, Live, Verdict};
use crate::domain::Millis;
use crate::domain::ids::LocationKey;

/// At most one wave per monitor in this time.
pub const GAP: Millis = 30_000;
/// At least so many are asked, if there are as many.
pub const FANOUT: usize = 8;

/// Ask these to probe now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wave {
    pub location: LocationKey,
    pub because: FirstKind,
    /// In order of use: other region and other domain first.
    pub ask: Vec<LocationKey>,
}

/// The wave that this tick starts, if any, and notes that it did. `held` are locations whose first
/// failures start none, because too many of their monitors fail at once; `spare` says whether an
/// agent's share allows one more.
pub fn plan(
    live: &mut Live,
    inputs: &Inputs<'_>,
    verdict: &Verdict,
    firsts: &[First],
    held: &[LocationKey],
    spare: impl Fn(LocationKey) -> bool,
) -> Option<Wave> {
    let now = inputs.now.max(live.folded_at);
    if live.waved_at.is_some_and(|at| now - at < GAP) {
        return None;
    }
    let first = firsts.iter().find(|first| !held.contains(&first.location))?;
    let mut ask = whom(live, inputs, first.location, FANOUT.max(verdict.q + 1), now);
    ask.retain(|location| spare(*location));
    if ask.is_empty() {
        return None;
    }
    live.waved_at = Some(now);
    Some(Wave { location: first.location, because: first.kind, ask })
}

/// Up to `fanout` locations that count, without the one that asks: first those in another region and
/// another failure domain, then another domain, then another region, then the rest; within each in
/// configured order.
pub fn whom(
    live: &Live,
    inputs: &Inputs<'_>,
    asking: LocationKey,
    fanout: usize,
    now: Millis,
) -> Vec<LocationKey> {
    let Some(home) = inputs.seats.iter().find(|seat| seat.key == asking) else { return Vec::new() };
    let mut others: Vec<(bool, bool, LocationKey)> = counted(live, inputs, now)
        .filter(|c| c.seat.key != asking)
        .map(|c| (c.seat.domain == home.domain, c.seat.region == home.region, c.seat.key))
        .collect();
    others.sort_by_key(|(same_domain, same_region, _)| (*same_domain, *same_region));
    others.into_iter().take(fanout).map(|(.., location)| location).collect()
}

/// A token bucket as a value: `rate` tokens a second, at most `burst`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    pub rate: f64,
    pub burst: f64,
    pub tokens: f64,
    pub at: Millis,
}

impl Bucket {
    /// A full one.
    pub fn full(rate: f64, burst: f64, now: Millis) -> Self {
        Self { rate, burst, tokens: burst, at: now }
    }

    /// Takes one token if there is one. Time that goes backwards refills nothing.
    pub fn take(&mut self, now: Millis) -> bool {
        let passed = (now - self.at).max(0) as f64 / 1000.0;
        self.tokens = (self.tokens + passed * self.rate).min(self.burst);
        self.at = self.at.max(now);
        let taken = self.tokens >= 1.0;
        if taken {
            self.tokens -= 1.0;
        }
        taken
    }
}

/// Whether a location that failed on so many of its monitors within half a minute is rather looked at
/// itself: more than 20 %.
pub fn location_in_question(failed: usize, monitors: usize) -> bool {
    failed * 5 > monitors
}

/// Whether so many monitors are suspect at once that one extra wave and fresh self-checks are due: at
/// least half of at least 10.
pub fn shared_trouble(suspect: usize, monitors: usize) -> bool {
    monitors >= 10 && suspect * 2 >= monitors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_refills_with_time_and_never_beyond_its_burst() {
        let mut bucket = Bucket::full(0.5, 2.0, 0);
        assert!(bucket.take(0) && bucket.take(0) && !bucket.take(0));
        assert!(!bucket.take(1_999) && bucket.take(2_000));
        assert!(!bucket.take(1_000), "time that goes back gives nothing");
        assert!(bucket.take(100_000) && bucket.take(100_000) && !bucket.take(100_000));
    }

    #[test]
    fn brakes_have_the_limits_of_the_rules() {
        assert!(!location_in_question(20, 100) && location_in_question(21, 100));
        assert!(shared_trouble(5, 10) && !shared_trouble(4, 10) && !shared_trouble(9, 9));
    }
}
