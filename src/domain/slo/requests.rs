//! Availability as clients met it: requests of a fleet's balancer, minute by minute (spec: slo, settled
//! points).

use super::definition::UnknownPolicy;
use super::evidence::ceil_div;
use super::measure::{Measured, TimePolicy, millis, of_time, of_time_parts};
use super::ratio::Ratio;
use super::timeline::{Condition, Piece, Spans, Timeline};
use crate::domain::Millis;

pub const MINUTE: Millis = 60_000;

/// Parts of a millisecond in which the bad share of a minute is kept: nanoseconds.
const PARTS: u128 = 1_000_000;

/// A minute in which the source was heard, with or without requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Minute {
    /// A whole minute.
    pub at: Millis,
    pub total: u64,
    /// Of these, failed by an instance or by the whole pool, or slower than allowed.
    pub bad: u64,
}

impl Minute {
    /// The minutes of a longer step in which the source was heard, its requests spread evenly over them: no
    /// request is lost, and none fails in a minute that had none.
    pub fn spread(at: Millis, minutes: u64, total: u64, bad: u64) -> impl Iterator<Item = Self> {
        let bad = bad.min(total);
        let wide = u128::from;
        let before = move |k: u64| (wide(total) * wide(k) / wide(minutes.max(1))) as u64;
        let bad_before = move |requests: u64| {
            (wide(bad) * wide(requests)).checked_div(wide(total)).unwrap_or(0) as u64
        };
        (0..minutes).map(move |k| {
            let (from, to) = (before(k), before(k + 1));
            Self {
                at: at + k as Millis * MINUTE,
                total: to - from,
                bad: bad_before(to) - bad_before(from),
            }
        })
    }
}

/// Requests ready to be measured.
#[derive(Debug, Clone)]
pub struct Requests<'a> {
    minutes: &'a [Minute],
    /// Time in which nothing counts.
    out: Spans,
    /// With fallback: minutes with fewer requests count by the monitor.
    least: Option<u64>,
    /// The monitor's timeline without the minutes that requests speak for.
    quiet: Timeline,
    /// The counting parts of minutes that requests speak for: begin, end, bad, total.
    busy: Vec<(Millis, Millis, u64, u64)>,
}

impl<'a> Requests<'a> {
    /// `minutes` are in order of time; `out` is the time that does not count.
    pub fn new(
        minutes: &'a [Minute],
        timeline: &Timeline,
        out: &Spans,
        fallback: Option<u32>,
    ) -> Self {
        let least = fallback.map(u64::from);
        let mut busy = Vec::new();
        let spoken = minutes.iter().filter(|m| least.is_some_and(|least| m.total >= least.max(1)));
        for minute in spoken {
            for piece in timeline.within(minute.at, minute.at + MINUTE) {
                if !out.contain(piece.from) {
                    busy.push((piece.from, piece.to, minute.bad.min(minute.total), minute.total));
                }
            }
        }
        let spans = Spans::union(busy.iter().map(|(from, to, ..)| (*from, *to)));
        // Spoken for: the monitor's timeline says nothing there, whatever the policies.
        let quiet = timeline
            .laid_over(&spans, |piece| Piece::new(piece.from, piece.to, Condition::NotMonitored));
        Self { minutes, out: out.clone(), least, quiet, busy }
    }

    /// Whether requests are counted, and not time.
    pub fn is_pooled(&self) -> bool {
        self.least.is_none()
    }

    pub fn measure(&self, from: Millis, to: Millis, policy: TimePolicy) -> Measured {
        match self.least {
            None => self.pooled(from, to),
            Some(_) => self.timed(from, to, policy),
        }
    }

    /// Milliseconds that were judged by requests, and by the monitor.
    pub fn shares(&self, from: Millis, to: Millis) -> (u64, u64) {
        let busy = self.busy_within(from, to).map(|(a, b, ..)| millis(b - a)).sum();
        let monitor = self.quiet.totals(from, to).measured();
        match self.least {
            None => (self.heard(from, to).count() as u64 * MINUTE as u64, 0),
            Some(_) => (busy, millis(monitor)),
        }
    }

    /// All requests together. Coverage is by minutes: heard of those that should have been.
    fn pooled(&self, from: Millis, to: Millis) -> Measured {
        let (mut total, mut bad, mut heard) = (0, 0, 0);
        for minute in self.heard(from, to) {
            total += minute.total;
            bad += minute.bad.min(minute.total);
            heard += 1;
        }
        let bad = Ratio::whole(bad.into());
        let due = self.due(from, to).max(heard);
        Measured {
            total,
            bad_least: bad.clone(),
            known: total,
            known_bad: bad.clone(),
            bad,
            unknown: 0,
            coverage: (heard, due),
        }
    }

    /// Time: a busy minute is bad for the share of its requests that were, any other as the monitor saw it.
    fn timed(&self, from: Millis, to: Millis, policy: TimePolicy) -> Measured {
        let quiet = self.quiet.totals(from, to);
        let monitor = of_time(&quiet, TimePolicy { unknown: UnknownPolicy::Exclude, ..policy });
        let (mut known, mut parts) = (monitor.known, 0_u128);
        for (a, b, bad, total) in self.busy_within(from, to) {
            known += millis(b - a);
            // Rounded up, so that rounding never flatters.
            parts += (u128::from(millis(b - a)) * PARTS * u128::from(bad)).div_ceil(total.into());
        }
        let bad = monitor.known_bad.plus(&Ratio::new(parts, PARTS));
        of_time_parts(known, bad, millis(quiet.unknown), policy.unknown)
    }

    fn busy_within(
        &self,
        from: Millis,
        to: Millis,
    ) -> impl Iterator<Item = (Millis, Millis, u64, u64)> + '_ {
        let first = self.busy.partition_point(|part| part.1 <= from);
        let rest = self.busy.get(first..).unwrap_or_default().iter();
        rest.take_while(move |part| part.0 < to)
            .map(move |&(a, b, bad, total)| (a.max(from), b.min(to), bad, total))
    }

    /// Minutes that begin within `[from, to)` and count as a whole.
    fn heard(&self, from: Millis, to: Millis) -> impl Iterator<Item = &'a Minute> + '_ {
        let first = self.minutes.partition_point(|minute| minute.at < from);
        let rest = self.minutes.get(first..).unwrap_or_default().iter();
        rest.take_while(move |minute| minute.at < to)
            .filter(|minute| self.out.within(minute.at, minute.at + MINUTE).next().is_none())
    }

    /// Minutes that begin within `[from, to)` and that no time touches which does not count.
    fn due(&self, from: Millis, to: Millis) -> u64 {
        let all = (ceil_div(to, MINUTE) - ceil_div(from, MINUTE)).max(0);
        // From the minute that holds the first instant left out to the end of the one with the last;
        // minutes that two spans touch are taken once.
        let whole = |(a, b): (Millis, Millis)| {
            (a.div_euclid(MINUTE) * MINUTE, ceil_div(b, MINUTE) * MINUTE)
        };
        let touched = Spans::union(self.out.within(from - MINUTE, to + MINUTE).map(whole));
        let first = ceil_div(from, MINUTE) * MINUTE;
        let end = ceil_div(to, MINUTE) * MINUTE;
        let lost: i64 = touched.within(first, end.max(first)).map(|(a, b)| (b - a) / MINUTE).sum();
        (all - lost).max(0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::definition::MaintenancePolicy;
    use super::*;

    const POLICY: TimePolicy = TimePolicy {
        unknown: UnknownPolicy::Exclude,
        maintenance: MaintenancePolicy::Exclude,
        partial_weight_ppm: 0,
    };

    fn minute(k: i64, total: u64, bad: u64) -> Minute {
        Minute { at: k * MINUTE, total, bad }
    }

    /// Ten minutes: up, down in the fifth, the ninth and tenth left out.
    fn timeline() -> (Timeline, Spans) {
        let down = Piece::new(4 * MINUTE, 5 * MINUTE, Condition::Down);
        let out = Spans::union([(8 * MINUTE, 10 * MINUTE)]);
        let up = |from, to| Piece::new(from * MINUTE, to * MINUTE, Condition::Up);
        (Timeline::new(0, 10 * MINUTE, [up(0, 4), down, up(5, 10)]).excluding(&out), out)
    }

    #[test]
    fn spreading_loses_nothing() {
        for (total, bad) in [(0, 0), (7, 7), (100, 3), (31, 30), (1_000_001, 999_999), (5, 9)] {
            let minutes: Vec<Minute> = Minute::spread(900_000, 15, total, bad).collect();
            assert_eq!(minutes.iter().map(|m| m.total).sum::<u64>(), total);
            assert_eq!(minutes.iter().map(|m| m.bad).sum::<u64>(), bad.min(total));
            assert!(minutes.iter().all(|m| m.bad <= m.total), "{minutes:?}");
            assert_eq!((minutes[0].at, minutes[14].at), (900_000, 900_000 + 14 * MINUTE));
        }
    }

    #[test]
    fn requests_are_counted_where_they_count() {
        let (timeline, out) = timeline();
        let minutes = [minute(0, 100, 1), minute(1, 0, 0), minute(2, 50, 50), minute(8, 7, 7)];
        let requests = Requests::new(&minutes, &timeline, &out, None);
        let seen = requests.measure(0, 10 * MINUTE, POLICY);
        assert_eq!((seen.total, seen.bad.floor(), seen.coverage), (150, 51, (3, 8)));
        assert_eq!(
            requests.measure(MINUTE, 2 * MINUTE, POLICY).ratio(),
            None,
            "no request, no ratio"
        );
    }

    #[test]
    fn a_quiet_minute_counts_by_the_monitor() {
        let (timeline, out) = timeline();
        // The fourth minute is busy and 1 of 3 failed; the fifth, in which the monitor was down, is busy
        // and fine; the sixth has too few requests to speak.
        let minutes = [minute(3, 30, 10), minute(4, 20, 0), minute(5, 19, 19), minute(8, 90, 90)];
        let requests = Requests::new(&minutes, &timeline, &out, Some(20));
        let seen = requests.measure(0, 10 * MINUTE, POLICY);
        assert_eq!((seen.total, seen.bad.to_f64()), (8 * 60_000, Some(20_000.0)));
        assert_eq!(requests.shares(0, 10 * MINUTE), (2 * 60_000, 6 * 60_000));
        // Cut through the busy minute.
        let part = requests.measure(3 * MINUTE + 30_000, 4 * MINUTE, POLICY);
        assert_eq!((part.total, part.bad.to_f64()), (30_000, Some(10_000.0)));
    }
}
