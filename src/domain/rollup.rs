//! Roll-ups: counts by outcome, counts at or under latency thresholds, and a mergeable histogram of pass
//! latencies. Everything is additive, so that a day is the sum of its quarter hours and a recount gives
//! the same row as the first count.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::ids::LocationKey;
use super::observation::{Class, Outcome, RunKind};

/// Length of the finest roll-up: a quarter hour, in seconds. Every civil zone's offset is a multiple.
pub const QUARTER_SECS: i64 = 900;

/// A quarter is counted this long after its end, so that what was under way has arrived.
const SETTLE_SECS: i64 = 90;

/// The beginning of the quarter hour that holds an instant.
pub fn quarter_of(at: Timestamp) -> Timestamp {
    let second = at.as_second().div_euclid(QUARTER_SECS) * QUARTER_SECS;
    Timestamp::from_second(second).unwrap_or(at)
}

/// Whether the quarter that begins at `quarter` is over and may be counted; what arrives for it later
/// makes a recount necessary.
pub fn is_closed(quarter: Timestamp, now: Timestamp) -> bool {
    now.as_second() >= quarter.as_second() + QUARTER_SECS + SETTLE_SECS
}

/// Histogram of latencies in integer microseconds: 16 buckets an octave, so that a bucket is at most
/// 1/16 of its value wide (half of that is the largest error of a quantile, 3.2 %). Values below 16 µs
/// have a bucket each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sketch {
    buckets: BTreeMap<u16, u32>,
}

impl Sketch {
    pub fn add(&mut self, micros: u32) {
        *self.buckets.entry(bucket_of(micros)).or_default() += 1;
    }

    pub fn merge(&mut self, other: &Sketch) {
        for (bucket, count) in &other.buckets {
            let mine = self.buckets.entry(*bucket).or_default();
            *mine = mine.saturating_add(*count);
        }
    }

    pub fn count(&self) -> u64 {
        self.buckets.values().map(|c| u64::from(*c)).sum()
    }

    /// The value in µs below or at which a share `q` (0 to 1) of the values lies: the middle of its
    /// bucket. None when empty.
    pub fn quantile(&self, q: f64) -> Option<u32> {
        let total = self.count();
        if total == 0 {
            return None;
        }
        let rank = ((q.clamp(0.0, 1.0) * total as f64).ceil() as u64).clamp(1, total);
        let mut seen = 0;
        for (bucket, count) in &self.buckets {
            seen += u64::from(*count);
            if seen >= rank {
                let (low, high) = bounds_of(*bucket);
                return Some(low + (high - low) / 2);
            }
        }
        None
    }

    /// Between how many and how many values are at or under `micros`: exact when the threshold stands at
    /// the end of a bucket.
    pub fn at_or_under(&self, micros: u32) -> (u64, u64) {
        let (mut certain, mut possible) = (0, 0);
        for (bucket, count) in &self.buckets {
            let (low, high) = bounds_of(*bucket);
            if high <= micros {
                certain += u64::from(*count);
            }
            if low <= micros {
                possible += u64::from(*count);
            }
        }
        (certain, possible)
    }

    /// Pairs of (gap to the previous bucket, count) as LEB128.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.buckets.len() * 3);
        let mut last = 0;
        for (bucket, count) in &self.buckets {
            put_varint(&mut out, u32::from(bucket - last));
            put_varint(&mut out, *count);
            last = *bucket;
        }
        out
    }

    /// None when the bytes are no sketch.
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let mut buckets = BTreeMap::new();
        let mut last: u16 = 0;
        while !bytes.is_empty() {
            let gap = take_varint(&mut bytes)?;
            let count = take_varint(&mut bytes)?;
            last = last.checked_add(u16::try_from(gap).ok()?)?;
            buckets.insert(last, count);
        }
        Some(Self { buckets })
    }
}

fn bucket_of(micros: u32) -> u16 {
    if micros < 16 {
        return micros as u16;
    }
    let octave = 31 - micros.leading_zeros();
    let within = (micros >> (octave - 4)) & 15;
    ((octave - 3) * 16 + within) as u16
}

/// Smallest and largest value of a bucket.
fn bounds_of(bucket: u16) -> (u32, u32) {
    let bucket = u32::from(bucket);
    if bucket < 16 {
        return (bucket, bucket);
    }
    let octave = (bucket / 16 + 3).min(31);
    let width = 1_u32 << (octave - 4);
    let low = (16 + bucket % 16) << (octave - 4);
    (low, low + (width - 1))
}

fn put_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push((value as u8 & 0x7f) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_varint(bytes: &mut &[u8]) -> Option<u32> {
    let mut value: u32 = 0;
    for shift in (0..35).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u32::from(first & 0x7f).checked_shl(shift)?;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// One stored result as counting sees it.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Seconds since the epoch, floored.
    pub at_s: i64,
    pub location: LocationKey,
    pub outcome: Outcome,
    pub class: Option<Class>,
    pub kind: RunKind,
    pub total_us: u32,
    /// Measured with settings that were no longer the present ones.
    pub outdated: bool,
}

/// Sums of one monitor at one location over a span. Manual runs are in none of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Attempts of every kind but manual.
    pub runs: u32,
    pub passes: u32,
    pub fails: u32,
    pub errors: u32,
    /// Scheduled runs with their own retries, by the result of the last attempt.
    pub events_ok: u32,
    pub events_fail: u32,
    pub events_invalid: u32,
    /// Sum of pass latencies in µs.
    pub sum_us: u64,
    /// Passes at or under each threshold in use, by µs.
    pub thresholds: BTreeMap<u32, u32>,
    /// Failures and errors by class.
    pub classes: BTreeMap<i16, u32>,
    /// Pass latencies.
    pub sketch: Sketch,
}

impl Counts {
    pub fn merge(&mut self, other: &Counts) {
        self.runs += other.runs;
        self.passes += other.passes;
        self.fails += other.fails;
        self.errors += other.errors;
        self.events_ok += other.events_ok;
        self.events_fail += other.events_fail;
        self.events_invalid += other.events_invalid;
        self.sum_us += other.sum_us;
        for (threshold, count) in &other.thresholds {
            *self.thresholds.entry(*threshold).or_default() += count;
        }
        for (class, count) in &other.classes {
            *self.classes.entry(*class).or_default() += count;
        }
        self.sketch.merge(&other.sketch);
    }

    fn add_attempt(&mut self, sample: &Sample, thresholds: &[u32]) {
        self.runs += 1;
        match sample.outcome {
            Outcome::Pass => {
                self.passes += 1;
                self.sum_us += u64::from(sample.total_us);
                self.sketch.add(sample.total_us);
                for threshold in thresholds {
                    let under = u32::from(sample.total_us <= *threshold);
                    *self.thresholds.entry(*threshold).or_default() += under;
                }
            }
            Outcome::Fail => self.fails += 1,
            Outcome::Error => self.errors += 1,
        }
        if let Some(class) = sample.class {
            *self.classes.entry(class.code()).or_default() += 1;
        }
    }

    fn add_event(&mut self, last: &Sample) {
        match last.outcome {
            _ if last.outdated => self.events_invalid += 1,
            Outcome::Pass => self.events_ok += 1,
            Outcome::Fail => self.events_fail += 1,
            Outcome::Error => self.events_invalid += 1,
        }
    }
}

/// Counts one monitor's results of [`from_s`, `to_s`) per location. `samples` are ordered by location
/// and time and reach past `to_s`, so that the retries of a run that began just before it are seen: an
/// event belongs to the span in which its scheduled attempt began.
pub fn count(
    samples: &[Sample],
    from_s: i64,
    to_s: i64,
    thresholds: &[u32],
) -> BTreeMap<LocationKey, Counts> {
    let mut all: BTreeMap<LocationKey, Counts> = BTreeMap::new();
    let mut event: Option<Sample> = None;
    for (i, sample) in samples.iter().enumerate() {
        let inside = sample.at_s >= from_s && sample.at_s < to_s;
        if inside {
            all.entry(sample.location).or_default().add_attempt(sample, thresholds);
        }
        // Repeats belong to the run before them, scheduled or asked for; runs of one location do not
        // overlap.
        match sample.kind {
            RunKind::Scheduled => event = inside.then_some(*sample),
            RunKind::Retry if event.is_some_and(|e| e.location == sample.location) => {
                event = Some(*sample);
            }
            RunKind::Retry | RunKind::Confirm | RunKind::Manual => {}
        }
        let next = samples[i + 1..].iter().find(|s| s.kind != RunKind::Manual);
        let ends = next.is_none_or(|s| s.location != sample.location || s.kind != RunKind::Retry);
        if ends && let Some(last) = event.take() {
            all.entry(last.location).or_default().add_event(&last);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(at_s: i64, kind: RunKind, outcome: Outcome, total_us: u32) -> Sample {
        Sample {
            at_s,
            location: LocationKey(1),
            outcome,
            class: None,
            kind,
            total_us,
            outdated: false,
        }
    }

    #[test]
    fn a_run_with_retries_is_one_event_by_its_last_attempt() {
        use Outcome::{Error, Fail, Pass};
        use RunKind::{Confirm, Retry, Scheduled};
        let samples = [
            sample(0, Scheduled, Pass, 10),
            sample(60, Scheduled, Fail, 10),
            sample(65, Retry, Pass, 10),
            sample(70, Confirm, Fail, 10),
            sample(120, Scheduled, Fail, 10),
            sample(125, Retry, Fail, 10),
            sample(180, Scheduled, Error, 10),
            sample(185, Confirm, Pass, 10),
            sample(190, Retry, Fail, 10),
            sample(899, Scheduled, Fail, 10),
            sample(904, Retry, Pass, 10),
        ];
        let counts = &count(&samples, 0, 900, &[])[&LocationKey(1)];
        assert_eq!((counts.events_ok, counts.events_fail, counts.events_invalid), (3, 1, 1));
        assert_eq!((counts.runs, counts.passes, counts.fails, counts.errors), (10, 3, 6, 1));
        let next = &count(&samples, 900, 1800, &[])[&LocationKey(1)];
        assert_eq!(
            (next.events_ok, next.runs, next.passes),
            (0, 1, 1),
            "the event was counted where it began"
        );
    }

    #[test]
    fn bytes_that_are_no_sketch_are_refused() {
        assert_eq!(Sketch::from_bytes(&[0x80]), None);
        assert_eq!(Sketch::from_bytes(&[1]), None);
        assert_eq!(Sketch::from_bytes(&[0xff, 0xff, 0xff, 0xff, 0xff, 1]), None);
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket_and_buckets_are_narrow(v in any::<u32>()) {
            let (low, high) = bounds_of(bucket_of(v));
            prop_assert!(low <= v && v <= high);
            prop_assert!(u64::from(high - low) * 16 <= u64::from(low.max(16)));
        }

        #[test]
        fn quantiles_err_by_half_a_bucket(mut values in prop::collection::vec(1_u32..100_000_000, 1..200), q in 0.0..1.0_f64) {
            let mut sketch = Sketch::default();
            for v in &values { sketch.add(*v); }
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = f64::from(values[rank - 1]);
            let told = f64::from(sketch.quantile(q).unwrap_or(0));
            prop_assert!((told - exact).abs() <= (exact * 0.032).max(1.0), "{told} for {exact}");
        }

        #[test]
        fn merging_is_adding(a in prop::collection::vec(any::<u32>(), 0..100), b in prop::collection::vec(any::<u32>(), 0..100)) {
            let of = |values: &[u32]| { let mut s = Sketch::default(); for v in values { s.add(*v); } s };
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let both: Vec<u32> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(&merged, &of(&both));
            prop_assert_eq!(Sketch::from_bytes(&merged.to_bytes()), Some(merged));
        }

        #[test]
        fn a_span_is_the_sum_of_its_parts(
            gaps in prop::collection::vec((1_i64..200, 0_u8..4, 0_u8..3, 1_u32..5_000_000), 0..60),
            cut in 0_i64..4000,
        ) {
            let mut at = 0;
            let samples: Vec<Sample> = gaps.iter().map(|(gap, kind, outcome, us)| {
                at += gap;
                let kind = [RunKind::Scheduled, RunKind::Retry, RunKind::Confirm, RunKind::Scheduled][usize::from(*kind)];
                let outcome = [Outcome::Pass, Outcome::Fail, Outcome::Error][usize::from(*outcome)];
                sample(at, kind, outcome, *us)
            }).collect();
            let end = at + 1;
            let cut = cut.min(end);
            let whole = count(&samples, 0, end, &[1000, 1_000_000]);
            let mut parts = count(&samples, 0, cut, &[1000, 1_000_000]);
            for (location, counts) in count(&samples, cut, end, &[1000, 1_000_000]) {
                parts.entry(location).or_default().merge(&counts);
            }
            prop_assert_eq!(whole, parts);
        }
    }
}
