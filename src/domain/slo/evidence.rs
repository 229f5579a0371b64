//! Results as events (spec: slo 3.5 to 3.7): one by one while they are kept, by the quarter hour after.

use std::collections::BTreeMap;

use super::timeline::{Condition, Spans, Timeline};
use crate::domain::Millis;
use crate::domain::sketch::Sketch;

/// Results of one location that are counted together: a single one, or those of a quarter hour.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    pub at: Millis,
    /// A single result takes one millisecond.
    pub to: Millis,
    /// Place in the list of locations.
    pub location: u16,
    pub ok: u64,
    pub fail: u64,
    pub invalid: u64,
    pub missing: u64,
    /// Passes at or under the latency threshold, at least and at most.
    pub quick: (u64, u64),
    pub timing: Timing,
}

/// How long passes took.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Timing {
    #[default]
    None,
    /// One, in µs.
    One(u32),
    Many {
        sum_us: u64,
        sketch: Box<Sketch>,
    },
}

/// What was to be probed in `[from, to)`: each location once in every cell of the grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub from: Millis,
    pub to: Millis,
    pub interval: Millis,
    pub locations: Vec<u16>,
}

/// Counts over a span.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub ok: u64,
    pub fail: u64,
    pub invalid: u64,
    pub missing: u64,
    pub quick: (u64, u64),
}

impl Counts {
    pub fn valid(&self) -> u64 {
        self.ok + self.fail
    }

    fn add(&mut self, batch: &Batch) {
        self.ok += batch.ok;
        self.fail += batch.fail;
        self.invalid += batch.invalid;
        self.missing += batch.missing;
        self.quick.0 += batch.quick.0;
        self.quick.1 += batch.quick.1;
    }
}

/// The results that count: outside maintenance, pause, and time without a monitor.
#[derive(Debug, Clone)]
pub struct Evidence<'a> {
    /// In order of time.
    batches: Vec<&'a Batch>,
    plans: &'a [Plan],
    /// Time in which nothing counts.
    pub out: Spans,
    /// The same for a location alone, by its place.
    scoped: BTreeMap<u16, Spans>,
}

impl<'a> Evidence<'a> {
    /// `batches` are in order of time.
    pub fn new(
        batches: &'a [Batch],
        plans: &'a [Plan],
        timeline: &Timeline,
        scoped: BTreeMap<u16, Spans>,
    ) -> Self {
        let out = Spans::union(timeline.pieces().iter().filter_map(|piece| {
            let left_out = matches!(
                piece.condition,
                Condition::Excluded | Condition::Paused | Condition::NotMonitored
            );
            left_out.then_some((piece.from, piece.to))
        }));
        let end = timeline.pieces().last().map_or(Millis::MIN, |piece| piece.to);
        let free = |spans: &Spans, b: &Batch| spans.within(b.at, b.to).next().is_none();
        let counts = |b: &&Batch| {
            b.at < end
                && free(&out, b)
                && scoped.get(&b.location).is_none_or(|spans| free(spans, b))
        };
        let batches = batches.iter().filter(counts).collect();
        Self { batches, plans, out, scoped }
    }

    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Batches that begin within `[from, to)`, in order of time.
    pub fn within(&self, from: Millis, to: Millis) -> &[&'a Batch] {
        let first = self.batches.partition_point(|batch| batch.at < from);
        let last = self.batches.partition_point(|batch| batch.at < to);
        self.batches.get(first..last.max(first)).unwrap_or_default()
    }

    pub fn counts(&self, from: Millis, to: Millis) -> Counts {
        let mut counts = Counts::default();
        self.within(from, to).iter().for_each(|batch| counts.add(batch));
        counts
    }

    pub fn by_location(&self, from: Millis, to: Millis) -> BTreeMap<u16, Counts> {
        let mut all: BTreeMap<u16, Counts> = BTreeMap::new();
        for batch in self.within(from, to) {
            all.entry(batch.location).or_default().add(batch);
        }
        all
    }

    /// Valid and failed per slice of time, for the slices that lie wholly within `[from, to)`.
    pub fn by_slice(&self, slice: Millis, from: Millis, to: Millis) -> BTreeMap<i64, Counts> {
        let mut all: BTreeMap<i64, Counts> = BTreeMap::new();
        let first = ceil_div(from, slice) * slice;
        let end = to.div_euclid(slice) * slice;
        for batch in self.within(first, end.max(first)) {
            all.entry(batch.at.div_euclid(slice)).or_default().add(batch);
        }
        all
    }

    /// Slices wholly within `[from, to)` of which some time counts.
    pub fn slices(&self, slice: Millis, from: Millis, to: Millis) -> u64 {
        let whole = |a: Millis, b: Millis| (b.div_euclid(slice) - ceil_div(a, slice)).max(0);
        let first = ceil_div(from, slice) * slice;
        let end = to.div_euclid(slice) * slice;
        let lost: i64 = self.out.within(first, end).map(|(a, b)| whole(a, b)).sum();
        (whole(from, to) - lost).max(0) as u64
    }

    /// How many results were to come in `[from, to)`: by plan, or all that did when there is none.
    pub fn expected(&self, from: Millis, to: Millis, counts: &Counts) -> u64 {
        let seen = counts.valid() + counts.invalid;
        if self.plans.is_empty() {
            return seen + counts.missing;
        }
        // More than planned is no reason for a coverage above one.
        self.planned(from, to).max(seen)
    }

    /// The same of one location, with what it gave.
    pub fn expected_of(&self, location: u16, from: Millis, to: Millis, counts: &Counts) -> u64 {
        let seen = counts.valid() + counts.invalid;
        if self.plans.is_empty() {
            return seen + counts.missing;
        }
        let planned: i64 = self.plans.iter().map(|plan| self.cells(plan, location, from, to)).sum();
        (planned.max(0) as u64).max(seen)
    }

    /// Runs by plan in `[from, to)`, outside the time that does not count.
    pub fn planned(&self, from: Millis, to: Millis) -> u64 {
        let of = |plan: &Plan| -> i64 {
            plan.locations.iter().map(|location| self.cells(plan, *location, from, to)).sum()
        };
        self.plans.iter().map(of).sum::<i64>().max(0) as u64
    }

    /// Runs of one location by one plan.
    fn cells(&self, plan: &Plan, location: u16, from: Millis, to: Millis) -> i64 {
        if !plan.locations.contains(&location) {
            return 0;
        }
        let (from, to) = (plan.from.max(from), plan.to.min(to));
        let cells =
            |a: Millis, b: Millis| (ceil_div(b, plan.interval) - ceil_div(a, plan.interval)).max(0);
        let lost: i64 = match self.scoped.get(&location) {
            None => self.out.within(from, to).map(|(a, b)| cells(a, b)).sum(),
            Some(own) => Spans::union(self.out.iter().chain(own.iter()))
                .within(from, to)
                .map(|(a, b)| cells(a, b))
                .sum(),
        };
        cells(from, to.max(from)) - lost
    }
}

/// Rounded towards plus infinity; `by` is positive.
pub fn ceil_div(number: Millis, by: Millis) -> Millis {
    -(-number).div_euclid(by)
}

#[cfg(test)]
mod tests {
    use super::super::timeline::Piece;
    use super::*;

    #[test]
    fn planned_runs_are_cells_of_the_grid_outside_what_does_not_count() {
        let up = Timeline::new(0, 3_600, [Piece::new(0, 3_600, Condition::Up)]);
        let timeline = up.excluding(&Spans::union([(600, 901)]));
        let plan = |from, to, interval| Plan { from, to, interval, locations: vec![0, 1] };
        let plans = [plan(0, 1_800, 60), plan(1_800, 3_600, 300)];
        let scoped = BTreeMap::from([(1, Spans::union([(840, 1_000)]))]);
        let evidence = Evidence::new(&[], &plans, &timeline, scoped);
        // 0..1800: 30 cells each, less 600..900 (6 of them) for both, less 960 for the second.
        assert_eq!(evidence.planned(0, 1_800), 2 * 30 - 2 * 6 - 1);
        assert_eq!(evidence.planned(1_800, 3_600), 2 * 6);
        assert_eq!(evidence.planned(1, 61), 2);
        assert_eq!(evidence.planned(1, 60), 0);
    }

    #[test]
    fn slices_count_when_they_lie_within_and_are_not_wholly_left_out() {
        let up = Timeline::new(0, 600, [Piece::new(0, 600, Condition::Up)]);
        let timeline = up.excluding(&Spans::union([(90, 240)]));
        let evidence = Evidence::new(&[], &[], &timeline, BTreeMap::new());
        // 60..120 is cut, 120..180 and 180..240 are left out.
        assert_eq!(evidence.slices(60, 0, 600), 8);
        assert_eq!(evidence.slices(60, 1, 599), 6);
        assert_eq!(evidence.slices(60, 130, 170), 0);
    }
}
