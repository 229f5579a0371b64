//! Roll-ups: counts by outcome, counts at or under latency thresholds, and a mergeable histogram of pass
//! latencies. Everything is additive, so that a day is the sum of its quarter hours and a recount gives
//! the same row as the first count.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::ids::LocationKey;
use super::observation::{Class, Outcome, RunKind};
use super::sketch::Sketch;

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

impl Sample {
    /// Whether an event with this result is good; none of one that says nothing of the target.
    pub fn as_event(&self) -> Option<bool> {
        match self.outcome {
            _ if self.outdated => None,
            Outcome::Pass => Some(true),
            Outcome::Fail => Some(false),
            Outcome::Error => None,
        }
    }
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
    /// Events whose scheduled attempt failed; of those, the ones that were tried again, and whose first
    /// repeat failed too.
    pub first_fails: u32,
    pub retried: u32,
    pub retried_fail: u32,
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
    /// Adds another span. A threshold that was counted over one of them alone has no count over both.
    pub fn merge(&mut self, other: &Counts) {
        let counted = |counts: &Counts, threshold: &u32| {
            counts.passes == 0 || counts.thresholds.contains_key(threshold)
        };
        let own = self.passes > 0;
        self.thresholds.retain(|threshold, _| counted(other, threshold));
        for (threshold, count) in &other.thresholds {
            if !own || self.thresholds.contains_key(threshold) {
                *self.thresholds.entry(*threshold).or_default() += count;
            }
        }
        self.runs += other.runs;
        self.passes += other.passes;
        self.fails += other.fails;
        self.errors += other.errors;
        self.events_ok += other.events_ok;
        self.events_fail += other.events_fail;
        self.events_invalid += other.events_invalid;
        self.first_fails += other.first_fails;
        self.retried += other.retried;
        self.retried_fail += other.retried_fail;
        self.sum_us += other.sum_us;
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

    fn add_event(&mut self, event: &Event) {
        match event.last.as_event() {
            Some(true) => self.events_ok += 1,
            Some(false) => self.events_fail += 1,
            None => {
                self.events_invalid += 1;
                return;
            }
        }
        if event.first.as_event() == Some(false) {
            self.first_fails += 1;
            if let Some(passed) = event.second.and_then(|second| second.as_event()) {
                self.retried += 1;
                self.retried_fail += u32::from(!passed);
            }
        }
    }
}

/// One event: a scheduled run with its own retries.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// The scheduled attempt: the event belongs to when and where that began.
    pub first: Sample,
    /// The first repeat.
    pub second: Option<Sample>,
    /// The last attempt, which is the result.
    pub last: Sample,
}

/// The events among one monitor's results, which are ordered by location and time, manual runs left out.
/// Retries without the run before them are none. Repeats belong to the run before them, scheduled or asked
/// for; runs of one location do not overlap.
pub fn events(samples: &[Sample]) -> Vec<Event> {
    let mut all = Vec::new();
    let mut open: Option<Event> = None;
    for sample in samples.iter().filter(|sample| sample.kind != RunKind::Manual) {
        match (sample.kind, &mut open) {
            (RunKind::Retry, Some(event)) if event.first.location == sample.location => {
                event.second.get_or_insert(*sample);
                event.last = *sample;
            }
            _ => {
                all.extend(open.take());
                if sample.kind == RunKind::Scheduled {
                    open = Some(Event { first: *sample, second: None, last: *sample });
                }
            }
        }
    }
    all.extend(open);
    all
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
    let inside = |sample: &Sample| sample.at_s >= from_s && sample.at_s < to_s;
    for sample in samples.iter().filter(|sample| inside(sample)) {
        all.entry(sample.location).or_default().add_attempt(sample, thresholds);
    }
    for event in events(samples).iter().filter(|event| inside(&event.first)) {
        all.entry(event.first.location).or_default().add_event(event);
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
        assert_eq!((counts.first_fails, counts.retried, counts.retried_fail), (3, 3, 1));
        let next = &count(&samples, 900, 1800, &[])[&LocationKey(1)];
        assert_eq!(
            (next.events_ok, next.runs, next.passes),
            (0, 1, 1),
            "the event was counted where it began"
        );
    }

    #[test]
    fn a_threshold_that_was_not_counted_all_the_time_has_no_count() {
        let quarter = |from: i64, thresholds: &[u32]| {
            let samples = [sample(from, RunKind::Scheduled, Outcome::Pass, 10)];
            count(&samples, from, from + 900, thresholds)
                .remove(&LocationKey(1))
                .unwrap_or_default()
        };
        let mut day = Counts::default();
        day.merge(&quarter(0, &[5, 20]));
        assert_eq!(day.thresholds, BTreeMap::from([(5, 0), (20, 1)]));
        day.merge(&Counts { runs: 1, fails: 1, ..Counts::default() });
        assert_eq!(day.thresholds.len(), 2, "without a pass nothing is missed");
        day.merge(&quarter(900, &[20, 30]));
        assert_eq!(day.thresholds, BTreeMap::from([(20, 2)]));
    }

    proptest! {
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
