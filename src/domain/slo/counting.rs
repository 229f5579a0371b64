//! What the counters of `/metrics` grow by (spec: slo 5.3): time, rounds and results of a span that will not
//! be looked at again.

use std::collections::BTreeMap;

use super::evidence::{Evidence, Plan, Timing, ceil_div};
use super::timeline::{Condition, Timeline, Totals};
use crate::domain::Millis;

/// Bounds of the histogram of durations in seconds: those that OpenTelemetry advises for HTTP requests.
pub const BOUNDS: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];
/// The same in µs.
const BOUNDS_US: [u32; 14] = [
    5_000, 10_000, 25_000, 50_000, 75_000, 100_000, 250_000, 500_000, 750_000, 1_000_000,
    2_500_000, 5_000_000, 7_500_000, 10_000_000,
];
/// Bounds, and what lies beyond them.
pub const BUCKETS: usize = BOUNDS.len() + 1;

/// Rounds: cells of the monitor's interval, by what held when they began. Maintenance, pauses and time
/// without a monitor have none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rounds {
    pub up: Millis,
    pub partial: Millis,
    pub down: Millis,
    pub unknown: Millis,
}

/// What the states of a span add.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Told {
    pub time: Totals,
    pub rounds: Rounds,
}

/// Of `[from, to)`; rounds are those of the plan of their time.
pub fn told(timeline: &Timeline, from: Millis, to: Millis, plans: &[Plan]) -> Told {
    let mut rounds = Rounds::default();
    for plan in plans {
        for piece in timeline.within(plan.from.max(from), plan.to.min(to)) {
            let begun = ceil_div(piece.to, plan.interval) - ceil_div(piece.from, plan.interval);
            match piece.condition {
                Condition::Up => rounds.up += begun,
                Condition::Partial => rounds.partial += begun,
                Condition::Down => rounds.down += begun,
                Condition::Unknown => rounds.unknown += begun,
                Condition::Excluded | Condition::Paused | Condition::NotMonitored => {}
            }
        }
    }
    Told { time: timeline.totals(from, to), rounds }
}

/// What the results of a location add.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Results {
    pub ok: u64,
    pub fail: u64,
    pub invalid: u64,
    pub missing: u64,
    /// Of those that passed.
    pub sum_us: u64,
    /// How many passes lie within each bound and beyond the one before.
    pub buckets: [u64; BUCKETS],
}

/// Of `[from, to)`, by place; `expected` are the places from which results are expected.
pub fn results(
    evidence: &Evidence<'_>,
    expected: &[u16],
    from: Millis,
    to: Millis,
) -> BTreeMap<u16, Results> {
    let mut all: BTreeMap<u16, Results> = BTreeMap::new();
    let mut counts = evidence.by_location(from, to);
    for place in expected {
        counts.entry(*place).or_default();
    }
    for (place, seen) in counts {
        let planned = evidence.expected_of(place, from, to, &seen);
        let missing = planned.saturating_sub(seen.valid() + seen.invalid);
        let results = Results {
            ok: seen.ok,
            fail: seen.fail,
            invalid: seen.invalid,
            missing,
            ..Results::default()
        };
        all.insert(place, results);
    }
    for batch in evidence.within(from, to) {
        let (Timing::One(us), Some(results)) = (&batch.timing, all.get_mut(&batch.location)) else {
            continue;
        };
        results.sum_us += u64::from(*us);
        let bucket = BOUNDS_US.partition_point(|bound| bound < us);
        if let Some(count) = results.buckets.get_mut(bucket) {
            *count += 1;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::evidence::Batch;
    use super::super::timeline::{Piece, Spans};
    use super::*;

    fn timeline() -> Timeline {
        let pieces = [
            Piece::new(0, 120_000, Condition::Up),
            Piece::new(120_000, 200_000, Condition::Down),
            Piece::new(200_000, 300_000, Condition::Up),
        ];
        Timeline::new(0, 400_000, pieces).excluding(&Spans::union([(240_000, 300_000)]))
    }

    #[test]
    fn a_span_adds_the_same_however_it_is_cut() {
        let line = timeline();
        let plan = |from, to, interval| Plan { from, to, interval, locations: vec![1] };
        let told = |from, to| told(&line, from, to, &[plan(0, Millis::MAX, 60_000)]);
        let whole = told(0, 400_000);
        assert_eq!(whole.rounds, Rounds { up: 2, partial: 0, down: 2, unknown: 2 });
        assert_eq!(
            (whole.time.up, whole.time.down, whole.time.excluded),
            (160_000, 80_000, 60_000)
        );
        for cut in [1, 59_999, 60_000, 150_000, 240_000, 399_999] {
            let (left, right) = (told(0, cut), told(cut, 400_000));
            assert_eq!(left.time.up + right.time.up, whole.time.up);
            assert_eq!(left.rounds.down + right.rounds.down, whole.rounds.down);
            assert_eq!(left.rounds.unknown + right.rounds.unknown, whole.rounds.unknown);
        }
        // Every minute at first, every half minute from the third on.
        let plans = [plan(-60_000, 120_000, 60_000), plan(120_000, Millis::MAX, 30_000)];
        let rounds = super::told(&line, 0, 400_000, &plans).rounds;
        assert_eq!(rounds, Rounds { up: 3, partial: 0, down: 3, unknown: 4 });
    }

    #[test]
    fn results_fall_into_buckets_and_what_did_not_come_is_missing() {
        let ok = |at, us| Batch {
            at,
            to: at + 1,
            location: 3,
            ok: 1,
            timing: Timing::One(us),
            ..Batch::default()
        };
        let fail = Batch { at: 120_000, to: 120_001, location: 3, fail: 1, ..Batch::default() };
        // The last one lies within maintenance.
        let batches =
            [ok(0, 5_000), ok(60_000, 5_001), fail, ok(180_000, 20_000_000), ok(240_000, 1)];
        let plans = [Plan { from: 0, to: Millis::MAX, interval: 60_000, locations: vec![3, 7] }];
        let line = timeline();
        let evidence = Evidence::new(&batches, &plans, &line, BTreeMap::new());
        let all = results(&evidence, &[3, 7], 0, 400_000);
        let here = all[&3];
        // Cells at 300 and 360 s had no result.
        assert_eq!((here.ok, here.fail, here.invalid, here.missing), (3, 1, 0, 2));
        assert_eq!((here.buckets[0], here.buckets[1], here.buckets[14]), (1, 1, 1));
        assert_eq!(here.sum_us, 20_010_001);
        assert_eq!((all[&7].ok, all[&7].missing), (0, 6));
    }

    #[test]
    fn bounds_are_the_same_in_both_units() {
        let of: Vec<u32> = BOUNDS.iter().map(|s| (s * 1e6).round() as u32).collect();
        assert_eq!(of, BOUNDS_US);
    }
}
